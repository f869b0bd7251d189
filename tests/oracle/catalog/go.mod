module catalog

go 1.26.0

require (
	golang.org/x/sync v0.24.0
	golang.org/x/time v0.16.0
	k8s.io/apimachinery v0.37.2
	k8s.io/client-go v0.37.2
)

require golang.org/x/sys v0.47.0 // indirect
