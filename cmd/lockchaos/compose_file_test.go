package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/runs/runtimes"
)

const composeFile = "../../docker-compose.yml"

// The compose file starts every node as the docker runtime does. It is written
// by this test, with LOCKCHAOS_UPDATE=1, from the same recipes.
func TestComposeFile(t *testing.T) {
	want := composeText(t)
	if os.Getenv("LOCKCHAOS_UPDATE") != "" {
		if err := os.WriteFile(composeFile, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(composeFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error("docker-compose.yml is not what the recipes say: LOCKCHAOS_UPDATE=1 go test -run TestComposeFile ./cmd/lockchaos writes it anew")
	}
}

const composeHead = `# Every lock service that lockchaos knows, to be tried by hand or with --runtime compose:
#
#   docker-compose up -d                           (or the services that are wanted: docker-compose up -d redis-1)
#   lockchaos run quick --runtime compose
#   docker-compose down
#
# Images: LOCKCHAOS_IMAGE_REDIS and so on, as for lockchaos itself; scripts/images makes some without a registry. No port is published: lockchaos
# plugs its clients into the network. LOCKCHAOS_COMPOSE_NET gives the network other addresses.
# Written by a test from the recipes of package backends: see cmd/lockchaos/compose_file_test.go.

services:
`

const composeFoot = `
networks:
  lockchaos:
    driver: bridge
    labels: {lockchaos.compose: "1"}
    ipam:
      config:
        - subnet: "%[1]s.0/24"
`

// composeNet begins the addresses of the network.
const composeNet = "${LOCKCHAOS_COMPOSE_NET:-10.93.0}"

// composeText is the file.
func composeText(t *testing.T) string {
	t.Helper()
	var order []string
	addrs := map[string]string{}
	for _, k := range backends.Kinds() {
		for _, n := range k.Nodes {
			if name := runtimes.ComposeName(k, n); addrs[name] == "" {
				addrs[name] = fmt.Sprintf("%s.%d", composeNet, 10+len(order))
				order = append(order, name)
			}
		}
	}
	var b strings.Builder
	b.WriteString(composeHead)
	for _, k := range backends.Kinds() {
		own := map[string]string{}
		for _, n := range k.Nodes {
			own[n.Name] = addrs[runtimes.ComposeName(k, n)]
		}
		for _, n := range k.Nodes {
			name := runtimes.ComposeName(k, n)
			i := slices.Index(order, name)
			if i < 0 {
				continue // another service has it, too
			}
			order[i] = ""
			task, err := runtimes.ContainerTask(k, n.Name, own)
			if err != nil {
				t.Fatal(err)
			}
			b.WriteString(composeService(t, k, n, name, addrs[name], task))
		}
	}
	fmt.Fprintf(&b, composeFoot, composeNet)
	return b.String()
}

func composeService(t *testing.T, k backends.Kind, n backends.NodeSpec, name, addr string, task docker.Task) string {
	t.Helper()
	quoted := func(s string) string {
		text, err := json.Marshal(s) // a JSON string is a YAML string
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s: # %s\n    image: ${%s:-%s}\n    entrypoint:\n", name, k.Name, runtimes.ImageVar(n.Program.Name), n.Program.Image)
	for _, word := range task.Command {
		// A dollar is compose's own, but for those of the addresses.
		word = strings.ReplaceAll(strings.ReplaceAll(word, "$", "$$"), "$"+composeNet, composeNet)
		fmt.Fprintf(&b, "      - %s\n", quoted(word))
	}
	if task.User != "" {
		fmt.Fprintf(&b, "    user: %s\n", task.User)
	}
	if len(task.Env) > 0 {
		b.WriteString("    environment:\n")
		for _, e := range task.Env {
			fmt.Fprintf(&b, "      - %s\n", quoted(e))
		}
	}
	fmt.Fprintf(&b, "    tmpfs: [\"%s:mode=1777\"]\n    networks: {lockchaos: {ipv4_address: \"%s\"}}\n", docker.DataDir, addr)
	return b.String()
}
