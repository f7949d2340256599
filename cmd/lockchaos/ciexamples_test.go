package main

import (
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/rhysd/actionlint"
)

const ciExamples = "../../examples/ci/"

// linter tells what is wrong with a workflow of GitHub.
func linter(t *testing.T) func(text string) []*actionlint.Error {
	t.Helper()
	l, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func(text string) []*actionlint.Error {
		all, err := l.Lint("workflow.yml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
}

// What GitHub would refuse of the workflow, or warn of, actionlint tells: keys,
// expressions, permissions, inputs of actions.
func TestGitHubExample(t *testing.T) {
	text, err := os.ReadFile(ciExamples + "github-actions.yml")
	if err != nil {
		t.Fatal(err)
	}
	lint := linter(t)
	for _, e := range lint(string(text)) {
		t.Error(e)
	}
	for _, c := range [][2]string{{"runs-on:", "run-on:"}, {"security-events: write", "security-event: write"},
		{"hashFiles", "hashFile"}, {"go-version:", "go-versions:"}} {
		if broken := strings.Replace(string(text), c[0], c[1], 1); broken == string(text) || len(lint(broken)) == 0 {
			t.Errorf("nobody sees %s", c[1])
		}
	}
	checkCommands(t, "github-actions.yml", string(text))
}

// The action is one that GitHub takes: each step runs a command in a shell, or
// uses another action, and knows no input that is not declared. actionlint has
// no eyes for the steps of an action, so they are put into a workflow.
func TestAction(t *testing.T) {
	text, err := os.ReadFile("../../action.yml")
	if err != nil {
		t.Fatal(err)
	}
	type input struct{ Description, Default string }
	var a struct {
		Name, Description string
		Inputs            map[string]input
		Runs              struct {
			Using string
			Steps []map[string]any
		}
	}
	if err := yaml.UnmarshalWithOptions(text, &a, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		t.Errorf("%+v", a)
	}
	calls := map[string]any{}
	for name, in := range a.Inputs {
		if in.Description == "" {
			t.Errorf("input %s has no description", name)
		}
		calls[name] = map[string]any{"description": in.Description, "default": in.Default, "type": "string"}
	}
	for _, step := range a.Runs.Steps {
		if step["run"] != nil && step["shell"] == nil {
			t.Errorf("%v: a step of an action names its shell", step["name"])
		}
	}
	workflow, err := yaml.Marshal(map[string]any{"name": "x", "on": map[string]any{"workflow_call": map[string]any{"inputs": calls}},
		"jobs": map[string]any{"x": map[string]any{"runs-on": "ubuntu-24.04", "steps": a.Runs.Steps}}})
	if err != nil {
		t.Fatal(err)
	}
	lint := linter(t)
	for _, e := range lint(string(workflow)) {
		t.Error(e)
	}
	if len(lint(strings.Replace(string(workflow), "inputs.policy", "inputs.polity", 1))) == 0 {
		t.Error("nobody sees an input that is not declared")
	}
	checkCommands(t, "action.yml", string(text))
}

// The workflow that runs the survey is held to the same.
func TestSurveyExample(t *testing.T) {
	text, err := os.ReadFile(ciExamples + "survey.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range linter(t)(string(text)) {
		t.Error(e)
	}
	checkCommands(t, "survey.yml", string(text))
}

// gitlabKeys are the keys that a job can have, of those that GitLab's "CI/CD
// YAML syntax reference" lists.
var gitlabKeys = []string{"stage", "image", "timeout", "interruptible", "variables", "before_script", "script",
	"after_script", "artifacts", "rules", "extends", "tags", "services", "needs",
	"cache", "allow_failure", "retry", "when", "environment", "parallel", "resource_group"}

// artifactKeys are those of artifacts.
var artifactKeys = []string{"when", "expire_in", "paths", "exclude", "reports", "name", "expose_as", "untracked", "access", "public"}

func TestGitLabExample(t *testing.T) {
	text, err := os.ReadFile(ciExamples + "gitlab-ci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for name, value := range file {
		if name == "stages" {
			continue
		}
		job, ok := value.(map[string]any)
		if !ok {
			t.Errorf("%s is no job", name)
			continue
		}
		for key := range job {
			if !slices.Contains(gitlabKeys, key) {
				t.Errorf("%s: %s is no key of a job", name, key)
			}
		}
		if artifacts, ok := job["artifacts"].(map[string]any); ok {
			for key := range artifacts {
				if !slices.Contains(artifactKeys, key) {
					t.Errorf("%s: %s is no key of artifacts", name, key)
				}
			}
		}
		base, extends := job["extends"].(string)
		if extends && file[base] == nil {
			t.Errorf("%s extends %s, which is not there", name, base)
		}
		if !strings.HasPrefix(name, ".") { // what begins with a dot is a template
			runs++
			if job["script"] == nil {
				t.Errorf("%s has no script", name)
			}
		}
		for _, key := range []string{"before_script", "script", "after_script"} {
			lines, _ := job[key].([]any)
			for _, line := range lines {
				if _, ok := line.(string); !ok {
					t.Errorf("%s: %s has a line that is no text: %v (a colon needs quotes)", name, key, line)
				}
			}
		}
	}
	if runs < 2 {
		t.Errorf("%d jobs", runs)
	}
	checkCommands(t, "gitlab-ci.yml", string(text))
}

// command finds lockchaos's own command lines in examples and docs.
var command = regexp.MustCompile(`(?:^|[\s;&])(?:\./bin/)?lockchaos +([a-z][^#;&|]*)`)

// variable finds what a CI system or the shell replaces by a number.
var variable = regexp.MustCompile(`\$\{\{ (matrix\.shard|github\.run_id) \}\}|\$CI_[A-Z_]+`)

// The command lines of examples are such as this lockchaos takes.
func checkCommands(t *testing.T, name, text string) {
	t.Helper()
	seen := 0
	text = variable.ReplaceAllString(text, "1")
	for _, line := range strings.Split(text, "\n") {
		if strings.HasPrefix(strings.TrimSpace(line), "#") || strings.Contains(line, "go install") || strings.Contains(line, "name:") {
			continue
		}
		for _, m := range command.FindAllStringSubmatch(line, -1) {
			seen++
			args := strings.Fields(m[1])
			root := rootCommand()
			cmd, rest, err := root.Find(args)
			if err != nil || cmd == root {
				t.Errorf("%s: %s: there is no such command", name, line)
				continue
			}
			if err := cmd.ParseFlags(rest); err != nil {
				t.Errorf("%s: %s: %v", name, line, err)
			}
		}
	}
	if seen == 0 {
		t.Errorf("%s: no command was found", name)
	}
}

func TestCommandsOfTheDocsOfCI(t *testing.T) {
	text, err := os.ReadFile("../../docs/ci.md")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, line := range strings.Split(string(text), "\n") {
		if strings.HasPrefix(line, "    lockchaos ") || strings.HasPrefix(line, "    source ") {
			lines = append(lines, strings.ReplaceAll(strings.ReplaceAll(line, "<(", " "), ")", " "))
		}
	}
	checkCommands(t, "docs/ci.md", strings.Join(lines, "\n"))
}
