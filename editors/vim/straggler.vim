" straggler for Vim with ALE: put this file into the directory `plugin` of your configuration. It
" runs beside the other linters of ALE.

function! s:Root(buffer) abort
  for l:mark in ['go.work', 'go.mod']
    let l:found = ale#path#FindNearestFile(a:buffer, l:mark)
    if !empty(l:found)
      return fnamemodify(l:found, ':h')
    endif
  endfor
  return fnamemodify(bufname(a:buffer), ':p:h')
endfunction

function! s:Define() abort
  call ale#linter#Define('go', {
  \   'name': 'straggler',
  \   'lsp': 'stdio',
  \   'executable': 'straggler',
  \   'command': '%e lsp',
  \   'project_root': function('s:Root'),
  \})
endfunction

augroup straggler
  autocmd!
  autocmd VimEnter * call s:Define()
augroup END
