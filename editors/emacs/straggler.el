;;; straggler.el --- Goroutines left behind, shown by eglot  -*- lexical-binding: t; -*-

;; Load this file from your init file.  Eglot runs one server for each buffer: `straggler' is then the
;; one for Go, in place of gopls.

;;; Code:

(require 'eglot)

(add-to-list 'eglot-server-programs '((go-mode go-ts-mode) . ("straggler" "lsp")))

(provide 'straggler)
;;; straggler.el ends here
