package tidy_test

import (
	"crypto/sha256"
	"fmt"
	"go/build"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// releaseFile is what goreleaser makes a release by.
const releaseFile = ".goreleaser.yaml"

// noticesFile is made for each release, by makesNotices.
const (
	noticesFile  = "THIRD_PARTY_NOTICES.txt"
	makesNotices = "go run ./internal/notices "
)

// release is what releaseFile names of the repository, and of itself.
type release struct {
	Before struct{ Hooks []string }
	Builds []struct {
		ID, Main     string
		Ldflags      []string
		Goos, Goarch []string
	}
	Archives []struct {
		IDs   []string
		Files []string
	}
	Images []struct {
		IDs        []string
		Dockerfile string
		Extra      []string `yaml:"extra_files"`
		Platforms  []string
	} `yaml:"dockers_v2"`
}

// TestRelease: what the release is made of exists.
func TestRelease(t *testing.T) {
	t.Chdir(root)
	text, err := os.ReadFile(releaseFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range releaseMistakes(t, string(text)) {
		t.Error(m)
	}
	for old, wrong := range map[string]string{
		"./cmd/lockchaos": "./harness", "main.version": "main.edition", "ids: [lockchaos]": "ids: [other]",
		"LICENSE": "LICENCE", "THIRD_PARTY": "THIRD", "go run ./internal/notices": "go run ./internal/site",
		"Dockerfile.release": "Dockerfile.gone", "platforms: [linux/amd64": "platforms: [linux/s390x",
	} {
		if found := releaseMistakes(t, strings.ReplaceAll(string(text), old, wrong)); len(found) == 0 {
			t.Errorf("%s for %s is no mistake", wrong, old)
		}
	}
}

// releaseMistakes are what a release names and the repository does not have.
func releaseMistakes(t *testing.T, text string) (found []string) {
	t.Helper()
	var r release
	if err := yaml.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Builds) == 0 || len(r.Archives) == 0 || len(r.Images) == 0 {
		t.Fatalf("%s has no builds, archives or images: %+v", releaseFile, r)
	}
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	platforms := map[string][]string{}
	for _, b := range r.Builds {
		p, err := build.ImportDir(b.Main, 0)
		if err != nil || p.Name != "main" {
			wrong("%s is no program: %v", b.Main, err)
			continue
		}
		for _, m := range regexp.MustCompile(`-X main\.(\w+)=`).FindAllStringSubmatch(strings.Join(b.Ldflags, " "), -1) {
			if !declares(t, b.Main, p.GoFiles, m[1]) {
				wrong("%s has no variable %s", b.Main, m[1])
			}
		}
		for _, system := range b.Goos {
			for _, processor := range b.Goarch {
				platforms[b.ID] = append(platforms[b.ID], system+"/"+processor)
			}
		}
	}
	for _, a := range r.Archives {
		for _, pattern := range a.Files {
			if files, err := fs.Glob(os.DirFS("."), pattern); pattern != noticesFile && (err != nil || len(files) == 0) {
				wrong("the archive has no %s: %v", pattern, err)
			}
		}
		if !slices.Contains(a.Files, noticesFile) {
			wrong("the archive has no %s", noticesFile)
		}
		for _, id := range a.IDs {
			if platforms[id] == nil {
				wrong("the archive has no build %s: there are %v", id, slices.Collect(maps.Keys(platforms)))
			}
		}
	}
	if !slices.Contains(r.Before.Hooks, makesNotices+noticesFile) {
		wrong("nothing makes %s", noticesFile)
	}
	for _, i := range r.Images {
		if !slices.Contains(i.Extra, noticesFile) {
			wrong("the image has no %s", noticesFile)
		}
		if _, err := os.Stat(i.Dockerfile); err != nil {
			wrong("the image: %v", err)
		}
		for _, id := range i.IDs {
			for _, p := range i.Platforms {
				if !slices.Contains(platforms[id], p) {
					wrong("the image is for %s, and build %s is not", p, id)
				}
			}
		}
	}
	return found
}

// declares reports whether a package has a variable with a value, which a linker's flag can set.
func declares(t *testing.T, dir string, files []string, variable string) bool {
	t.Helper()
	for _, file := range files {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		if regexp.MustCompile(`(?m)^var ` + variable + ` = "`).Match(text) {
			return true
		}
	}
	return false
}

// TestReleaseImage: the image of a release is the last stage of Dockerfile, and
// differs in where its binary is from.
func TestReleaseImage(t *testing.T) {
	t.Chdir(root)
	const base = "\nFROM ${BASE_IMAGE}\n"
	var stages, arguments []string
	for _, file := range []string{"Dockerfile", "Dockerfile.release"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, last, found := strings.Cut(string(text), base)
		if !found {
			t.Fatalf("%s has no stage%s", file, base)
		}
		stages = append(stages, last)
		arguments = append(arguments, regexp.MustCompile(`(?m)^ARG BASE_IMAGE=.*$`).FindString(string(text)))
	}
	want := strings.Replace(stages[0], "COPY --from=build /out/lockchaos", "ARG TARGETPLATFORM\nCOPY $TARGETPLATFORM/lockchaos", 1)
	want = strings.Replace(want, "COPY --from=build /out/LICENSE /out/", "COPY LICENSE ", 1)
	if stages[1] != want || want == stages[0] {
		t.Errorf("the last stage of a release is\n%s\nand of Dockerfile, with the release's binary,\n%s", stages[1], want)
	}
	if arguments[0] != arguments[1] || arguments[0] == "" {
		t.Errorf("the bases are %q", arguments)
	}
}

// TestHostileAction: the action installs what is pinned, with the right sum, and nothing else.
func TestHostileAction(t *testing.T) {
	t.Chdir(root)
	for _, tool := range []string{"bash", "sha256sum", "tar", "install"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the script needs ", tool)
		}
	}
	bin := t.TempDir()
	archive := filepath.Join(bin, "archive.tar.gz")
	for name, script := range map[string]string{
		"lockchaos": "#!/bin/sh\n",
		"go":        "#!/bin/sh\n[ \"$1\" = build ] && [ \"$GOFLAGS\" = -mod=readonly ] && [ \"$3\" = -o ] && echo built >\"$4\"\n",
		"curl":      "#!/bin/sh\nwhile [ $# -gt 1 ]; do [ \"$1\" != --output ] || to=$2; shift; done\ncp " + archive + " \"$to\"\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("tar", "-czf", archive, "-C", bin, "lockchaos").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(archive)
	if err != nil {
		t.Fatal(err)
	}
	right, wrong := fmt.Sprintf("%x", sha256.Sum256(text)), strings.Repeat("0", 64)
	for _, c := range []struct {
		version, sum string
		installed    bool
	}{{"", "", true}, {"v1.2.3", right, true}, {"v1.2.3", wrong, false}, {"v1.2.3", "", false},
		{"latest", right, false}, {"main", right, false}, {"", right, false}} {
		into := filepath.Join(t.TempDir(), "into")
		cmd := exec.Command("scripts/install-for-action", into)
		cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "VERSION="+c.version, "SHA256="+c.sum)
		said, err := cmd.CombinedOutput()
		_, there := os.Stat(filepath.Join(into, "lockchaos"))
		if (err == nil) != c.installed || (there == nil) != c.installed {
			t.Errorf("version %q, sum %q: %v, %v: %s", c.version, c.sum, err, there, said)
		}
	}
	for _, file := range []string{"action.yml", "examples/ci/github-actions.yml", "examples/ci/gitlab-ci.yml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if floating := regexp.MustCompile(`lockchaos/[\w/]*@(latest|main)|default: latest`).Find(text); floating != nil {
			t.Errorf("%s installs %s, which is another program tomorrow", file, floating)
		}
	}
}

// TestHostileNotices: the notices of a release name each module that is
// compiled in, with the text of its licence.
func TestHostileNotices(t *testing.T) {
	t.Chdir(root)
	file := filepath.Join(t.TempDir(), noticesFile)
	words := append(strings.Fields(makesNotices), file)
	if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	listed, err := exec.Command("go", "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/lockchaos").Output()
	if err != nil {
		t.Fatal(err)
	}
	modules := strings.FieldsFunc(string(listed), func(r rune) bool { return r == '\n' })
	for _, module := range modules {
		if !strings.Contains(string(text), "\n"+module+"\n") {
			t.Errorf("no notice of %s", module)
		}
	}
	for _, want := range []string{"Apache License", "Mozilla Public License", "Copyright 2009 The Go Authors"} {
		if len(modules) == 0 || !strings.Contains(string(text), want) {
			t.Errorf("no %q among the notices of %d modules", want, len(modules))
		}
	}
}

// TestLiteHasNoServers: the command of the packages for test frameworks is small, since no server
// of a service is compiled in.
func TestLiteHasNoServers(t *testing.T) {
	t.Chdir(root)
	servers := []string{"go.etcd.io/etcd/server/v3/embed", "github.com/nats-io/nats-server/v2/server"}
	for _, tags := range []string{"", "lite"} {
		out, err := exec.Command("go", "list", "-tags", tags, "-deps", "./cmd/lockchaos").Output()
		if err != nil {
			t.Fatal(err)
		}
		for _, server := range servers {
			if has := slices.Contains(strings.Fields(string(out)), server); has != (tags == "") {
				t.Errorf("built with -tags %q, it has %s compiled in: %v", tags, server, has)
			}
		}
	}
}
