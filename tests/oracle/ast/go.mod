module straggler.invalid/oracle/ast

go 1.24
