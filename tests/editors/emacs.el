;;; emacs.el --- Sees a finding in Emacs, edits it away, and sees it go  -*- lexical-binding: t; -*-

;;; Code:

(setq eglot-sync-connect 60 eglot-connect-timeout 60)
(load (getenv "STRAGGLER_CONFIG"))
;; The mode for Go is a package of its own; its name is all that matters here.
(define-derived-mode go-mode prog-mode "Go")

(defun wait-for-findings (count)
  "Wait until there are COUNT findings; end with an error if that takes too long."
  (let ((end (+ (float-time) 60)))
    (while (and (< (float-time) end) (/= count (length (flymake-diagnostics))))
      (accept-process-output nil 0.1)
      (flymake-start))
    (unless (= count (length (flymake-diagnostics)))
      (message "Emacs: not %d findings but %S" count (flymake-diagnostics))
      (kill-emacs 1))))

(find-file (getenv "STRAGGLER_FILE"))
(go-mode)
(apply #'eglot (eglot--guess-contact))
(wait-for-findings 1)
(let ((found (car (flymake-diagnostics))))
  (unless (= 7 (line-number-at-pos (flymake-diagnostic-beg found)))
    (message "Emacs: the finding is elsewhere: %S" found)
    (kill-emacs 1)))
(goto-char (point-min))
(search-forward "make(chan int")
(insert ", 1")
(eglot--signal-textDocument/didChange)
(wait-for-findings 0)
(message "Emacs: seen, and seen to go")
(kill-emacs 0)
;;; emacs.el ends here
