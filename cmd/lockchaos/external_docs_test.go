package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/lockchaos/lockchaos/internal/endpoint/authority"
	"github.com/lockchaos/lockchaos/internal/hosts/needed"
	"github.com/lockchaos/lockchaos/internal/probe/probetest"
	"github.com/lockchaos/lockchaos/internal/runs/exit"
)

// probed is a line of docs/external.md that probes a server by its name.
var probed = regexp.MustCompile(`(?m)^    (lockchaos probe --nodes '\w+=\w+://\S+@([a-z.]+):([0-9]+)\S*' --cacert ca.pem.*)$`)

// The worked examples of docs/external.md probe servers that are set up as it says, word by word.
// Only the port differs, to which the name leads.
func TestExternalDocs(t *testing.T) {
	needed.Apart(t, "the tests of each service stand for what its section of the page says")
	page, err := os.ReadFile("../../docs/external.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "ACL SETUSER me on >PASSWORD "+probetest.RedisRights+"\n") {
		t.Errorf("it does not name the rights of Redis' user: %s", probetest.RedisRights)
	}
	for _, rights := range []string{`"` + strings.Join(probetest.NATSRights, `", "`) + `"`, strings.ReplaceAll(probetest.ConsulRights, "\n", "\n    ")} {
		if !strings.Contains(string(page), strings.TrimSpace(rights)) {
			t.Errorf("it does not name the rights of a user: %s", rights)
		}
	}
	// A cluster has the ports of its other nodes behind the first.
	start := map[string]func(t *testing.T, ca *authority.Authority, name string) (ports string){
		"6379": func(t *testing.T, ca *authority.Authority, name string) string {
			return strings.Join(probetest.RedisCluster(t, ca, name, false).Ports, " ")
		},
		"6380": func(t *testing.T, ca *authority.Authority, name string) string {
			return probetest.Redis(t, ca, name, authority.Good)
		},
		"2379": func(t *testing.T, ca *authority.Authority, name string) string { return probetest.Etcd(t, ca, name) },
		"5432": func(t *testing.T, ca *authority.Authority, name string) string {
			return probetest.Postgres(t, ca, name)
		},
		"4222": func(t *testing.T, ca *authority.Authority, name string) string {
			return probetest.NATS(t, ca, name, authority.Good)
		},
		"8501": func(t *testing.T, ca *authority.Authority, name string) string {
			return probetest.Consul(t, ca, name, false)
		},
		"2281": func(t *testing.T, ca *authority.Authority, name string) string {
			return probetest.ZooKeeper(t, ca, name)
		},
		"3306": func(t *testing.T, ca *authority.Authority, name string) string { return probetest.MariaDB(t, ca, name) },
	}
	lockchaos := program(t)
	for _, found := range probed.FindAllStringSubmatch(string(page), -1) {
		line, name, port := found[1], found[2], found[3]
		serve, known := start[port]
		if !known {
			t.Errorf("no server is known for %s", line)
			continue
		}
		delete(start, port)
		t.Run(name+":"+port, func(t *testing.T) {
			t.Parallel()
			ca, dir := authority.New(t), t.TempDir()
			cert, key := ca.Issue(t, "me")
			for link, file := range map[string]string{"ca.pem": ca.File, "me.pem": cert, "me.key": key, "lockchaos": lockchaos} {
				if err := os.Symlink(file, filepath.Join(dir, link)); err != nil {
					t.Fatal(err)
				}
			}
			ports := strings.Fields(serve(t, ca, name))
			line := line + " --connect-to " + name + ":" + port + "=127.0.0.1:" + ports[0]
			for _, other := range ports {
				line += " --connect-to " + name + ":" + other + "=127.0.0.1:" + other
			}
			cmd := exec.Command("sh", "-c", line)
			cmd.Dir, cmd.Env = dir, append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "MY_PASSWORD="+probetest.Secret, "MY_TOKEN="+probetest.Token)
			text, err := cmd.CombinedOutput()
			if err != nil || !strings.Contains(string(text), "create-if-absent  holds") || strings.Contains(string(text), probetest.Secret) {
				t.Errorf("%s: exit status %d, want %d\n%s", line, cmd.ProcessState.ExitCode(), exit.OK, text)
			}
		})
	}
	for port := range start {
		t.Errorf("the page has no example at port %s", port)
	}
}
