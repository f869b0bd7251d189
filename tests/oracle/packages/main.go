// Package main brings the packages of the comparison with go/types into one build list.
package main

import (
	_ "context"
	_ "database/sql"
	_ "encoding/json"
	_ "go/types"
	_ "net/http"
	_ "os/exec"
	_ "slices"
	_ "sync"
	_ "text/template"

	_ "github.com/spf13/cobra"
	_ "go.uber.org/zap"
	_ "k8s.io/apimachinery/pkg/runtime"
	_ "k8s.io/apimachinery/pkg/watch"
)

func main() {}
