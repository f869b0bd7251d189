-- straggler for Neovim 0.7 and later: put this file into the directory `plugin` of your configuration.
-- It starts `straggler lsp` for Go files, beside gopls, once for each module.

local config = {
  name = 'straggler',
  cmd = { 'straggler', 'lsp' },
  -- Everything that the server can be told; see the section "In an editor" of the README.
  init_options = {},
}

local function root(path)
  local dir = vim.fn.fnamemodify(path, ':p:h')
  for _, mark in ipairs({ 'go.work', 'go.mod', '.git' }) do
    local found = vim.fn.findfile(mark, dir .. ';')
    if found == '' then
      found = vim.fn.finddir(mark, dir .. ';')
    end
    if found ~= '' then
      local path = vim.fn.fnamemodify(found, ':p'):gsub('/+$', '')
      return vim.fn.fnamemodify(path, ':h')
    end
  end
  return dir
end

-- Clients by root, where Neovim does not keep them itself.
local clients = {}

vim.api.nvim_create_autocmd('FileType', {
  pattern = 'go',
  desc = 'start straggler',
  callback = function(args)
    local dir = root(vim.api.nvim_buf_get_name(args.buf))
    local options = vim.tbl_extend('force', config, { root_dir = dir })
    if vim.lsp.start then
      vim.lsp.start(options)
      return
    end
    clients[dir] = clients[dir] or vim.lsp.start_client(options)
    vim.lsp.buf_attach_client(args.buf, clients[dir])
  end,
})
