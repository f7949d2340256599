package strictyaml

import (
	"strings"
	"testing"
)

type form struct {
	Name  string `yaml:"name"`
	Parts []struct {
		Length int `yaml:"length"`
	} `yaml:"parts"`
}

func TestMistakesOfForm(t *testing.T) {
	for text, want := range map[string]string{
		"":                                "f.yaml: the file is empty",
		"name: a\n---\nname: b\n":         "f.yaml: a second YAML document",
		"nmae: a\n":                       `f.yaml:1:1: unknown field "nmae"; did you mean name?`,
		"name: a\nparts:\n  - lenght: 3":  `f.yaml:3:5: unknown field "lenght"; did you mean length?`,
		"name: a\nmoonshine: 3":           `f.yaml:2:1: unknown field "moonshine"`,
		"name: a\nparts:\n  - length: no": "f.yaml:3:13: ",
		"name: [a":                        "f.yaml:1:",
	} {
		var v form
		err := Decode([]byte(text), &v)
		if err == nil {
			t.Errorf("%q is read as %+v", text, v)
			continue
		}
		if got := Located("f.yaml", err).Error(); !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%q: %s\nwant %s", text, got, want)
		}
	}
}

func TestMistakesOfContent(t *testing.T) {
	var into any
	m, err := Read([]byte("name: a\nparts:\n  - length: 3\n"), "f.yaml", &into)
	if err != nil || m.Err() != nil || m.First() != nil {
		t.Fatal(err, m)
	}
	for range 2 {
		m.Add("$.parts[0].length", "too %s", "long")
	}
	m.Add("$.parts[0].colour", "no colour") // not there: the place of what it is missing in
	m.Add("$", "all wrong")
	want := "f.yaml:3:13: too long\nf.yaml:3:11: no colour\nf.yaml: all wrong"
	if got := m.Err().Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if m.Len() != 3 || m.First().Error() != "f.yaml:3:13: too long" || m.Line("$.parts[0].length") != 3 || m.Line("$") != 0 {
		t.Errorf("%d %v", m.Len(), m.First())
	}
}
