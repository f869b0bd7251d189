-- Opens the file of STRAGGLER_FILE with editors/neovim/straggler.lua, sees the finding, applies the
-- edit that ends it, and sees it go. Ends with an error where something is not as it should be.

local function check(condition, message)
  if not condition then
    io.stderr:write(message .. '\n' .. vim.inspect(vim.diagnostic.get(0)) .. '\n')
    vim.cmd('cquit 1')
  end
end

local function found(count)
  return vim.wait(60000, function()
    return #vim.diagnostic.get(0) == count
  end, 20)
end

vim.cmd('filetype on')
vim.cmd('source ' .. vim.env.STRAGGLER_PLUGIN)
vim.cmd('edit ' .. vim.env.STRAGGLER_FILE)
vim.bo.filetype = 'go'

check(found(1), 'there is no finding')
local told = vim.diagnostic.get(0)[1]
check(told.lnum == 6 and told.col == 13, 'the finding is elsewhere')
check(told.source == 'straggler', 'somebody else has found it')
check(told.message:find('`ch`', 1, true), 'the finding says something else')

vim.api.nvim_buf_set_lines(0, 5, 6, true, { '\tch := make(chan int, 1) // é𝄞' })
check(found(0), 'the finding does not go')
vim.cmd('undo')
check(found(1), 'the finding does not come back')

local place = {
  textDocument = vim.lsp.util.make_text_document_params(),
  position = { line = 6, character = 2 },
}
local answers = vim.lsp.buf_request_sync(0, 'textDocument/hover', place, 60000)
check(vim.inspect(answers):find('How this goroutine ends', 1, true), 'nothing is told of the goroutine')
vim.cmd('quitall!')
