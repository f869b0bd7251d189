module oracle/types

go 1.24
