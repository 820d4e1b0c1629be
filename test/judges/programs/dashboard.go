// Reads a dashboard with the types that Grafana generates from its schema.
package main

import (
	"log"
	"os"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// require ends the program with a mistake. Without one, the library returns an empty list.
func require(err error) {
	if err != nil && strings.TrimSpace(err.Error()) != "" {
		log.Fatal(err)
	}
}

func main() {
	plugins.RegisterDefaultPlugins()
	text, err := os.ReadFile(os.Args[1])
	require(err)
	var board dashboard.Dashboard
	require(board.UnmarshalJSONStrict(text))
	require(board.Validate())
}
