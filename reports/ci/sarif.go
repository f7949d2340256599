package ci

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/checker"
	"github.com/lockchaos/lockchaos/reports"
	"github.com/lockchaos/lockchaos/reports/phrase"
	"github.com/lockchaos/lockchaos/reports/story"
)

// The parts of SARIF 2.1.0 (OASIS Standard, section 3) that code scanning reads.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool        sarifTool            `json:"tool"`
		Invocations []sarifInvocation    `json:"invocations"`
		Bases       map[string]sarifBase `json:"originalUriBaseIds,omitempty"`
		Automation  *sarifAutomation     `json:"automationDetails,omitempty"`
		Results     []sarifResult        `json:"results"`
		Properties  map[string]any       `json:"properties,omitempty"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version,omitempty"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID      string    `json:"id"`
		Short   sarifText `json:"shortDescription"`
		Full    sarifText `json:"fullDescription"`
		Help    sarifText `json:"help"`
		Default struct {
			Level string `json:"level"`
		} `json:"defaultConfiguration"`
		Properties map[string]any `json:"properties,omitempty"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifInvocation struct {
		Successful    bool                `json:"executionSuccessful"`
		Start         string              `json:"startTimeUtc,omitempty"`
		End           string              `json:"endTimeUtc,omitempty"`
		Notifications []sarifNotification `json:"toolExecutionNotifications,omitempty"`
	}
	sarifNotification struct {
		Level   string    `json:"level"`
		Message sarifText `json:"message"`
	}
	sarifBase struct {
		Description sarifText `json:"description"`
	}
	sarifAutomation struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Occurrences  int                `json:"occurrenceCount,omitempty"`
		Fingerprints map[string]string  `json:"partialFingerprints"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
		Properties   map[string]any     `json:"properties,omitempty"`
	}
	sarifLocation struct {
		Physical struct {
			Artifact sarifArtifact `json:"artifactLocation"`
			Region   sarifRegion   `json:"region"`
		} `json:"physicalLocation"`
		Logical []sarifLogical `json:"logicalLocations,omitempty"`
	}
	sarifArtifact struct {
		URI  string `json:"uri"`
		Base string `json:"uriBaseId,omitempty"`
	}
	sarifRegion struct {
		Line int `json:"startLine"`
	}
	sarifLogical struct {
		Name string `json:"fullyQualifiedName"`
		Kind string `json:"kind"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Status        string `json:"status"`
		Justification string `json:"justification"`
	}
)

// baseOurs is the root of the paths that are not in the user's repository but
// in the sources of lockchaos.
const baseOurs = "LOCKCHAOS"

// ownRules are the rules that are no property.
var ownRules = []story.Entry{
	{Word: reports.RuleInconclusive, Means: "The run shows too little to conclude anything, which is never a pass."},
	{Word: reports.RuleNotCaught, Means: "A violation that theory expects, and that the scenario is made to show, did not come."},
	{Word: reports.RuleSeverity, Means: "What double-holds did to the data is not what was expected."},
	{Word: reports.RuleFailed, Means: "The harness or a service failed, so there is no verdict."},
	{Word: reports.RuleSkipped, Means: "The scenario was not run here, which is never a pass."},
}

// WriteSARIF writes a run's findings in SARIF 2.1.0, for code scanning: a result
// for each property of a scenario that is violated and should not be, or that the
// run leaves open. Its location is the line where the scenario, or the policy that
// asks for it, was written. What a policy knows of is a note with a suppression.
// The same finding has the same fingerprint in every run, whatever the seed.
func WriteSARIF(w io.Writer, s reports.Suite) error {
	run := sarifRun{Tool: sarifTool{sarifDriver{Name: "lockchaos", Version: phrase.Clip(s.Version, phrase.MostName)}},
		Results:    []sarifResult{},
		Automation: &sarifAutomation{ID: "lockchaos/" + phrase.Clip(s.Name, phrase.MostName) + "/"}}
	index := map[string]int{}
	add := func(id, about string, tags ...string) {
		index[id] = len(run.Tool.Driver.Rules)
		r := sarifRule{ID: id, Short: sarifText{id}, Full: sarifText{phrase.Sentence(about)},
			Help: sarifText{phrase.Sentence(about)}}
		r.Default.Level = reports.Error.String()
		if len(tags) > 0 {
			r.Properties = map[string]any{"tags": tags}
		}
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, r)
	}
	for _, p := range checker.Properties() {
		add(p.Name, p.About, "distributed-lock", "correctness")
	}
	for _, r := range ownRules {
		add(r.Word, r.Means)
	}
	invocation := sarifInvocation{Successful: true}
	if !s.Started.IsZero() {
		invocation.Start, invocation.End = s.Started.UTC().Format(time.RFC3339),
			s.Started.Add(s.Elapsed).UTC().Format(time.RFC3339)
	}
	for _, f := range s.Findings() {
		if _, known := index[f.Rule]; !known {
			add(f.Rule, f.Rule) // a remark's
		}
		if f.Rule == reports.RuleFailed {
			invocation.Successful = false
			invocation.Notifications = append(invocation.Notifications,
				sarifNotification{reports.Error.String(),
					sarifText{phrase.Clip(f.Scenario, phrase.MostName) + ": " + f.Text}})
		}
		r := sarif(f)
		r.RuleIndex = index[f.Rule]
		if r.Locations[0].Physical.Artifact.Base != "" {
			run.Bases = map[string]sarifBase{baseOurs: {sarifText{"the sources of lockchaos " +
				phrase.Clip(s.Version, phrase.MostName)}}}
		}
		run.Results = append(run.Results, r)
	}
	run.Invocations = []sarifInvocation{invocation}
	run.Properties = map[string]any{"seed": s.Seed, "command": phrase.Clip(s.Command, phrase.MostText),
		"runtime": phrase.Clip(s.Runtime, phrase.MostName)}
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	log := sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
	if err := enc.Encode(log); err != nil {
		return fmt.Errorf("write SARIF: %w", err)
	}
	return nil
}

func sarif(f reports.Finding) sarifResult {
	about := f.Scenario
	if about == "" {
		about = f.Text // a remark is about nothing but what it says
	}
	mark := sha256.Sum256([]byte(about + "\x00" + f.Rule))
	r := sarifResult{RuleID: f.Rule, Level: f.Level.String(), Message: sarifText{f.Sentence()},
		Locations:    []sarifLocation{location(f)},
		Fingerprints: map[string]string{"lockchaos/v1": hex.EncodeToString(mark[:16])}}
	if f.Of > 1 {
		r.Occurrences = f.Times
	}
	if f.Known != "" {
		r.Suppressions = []sarifSuppression{{"external", "accepted", phrase.Clip(f.Known, phrase.MostText)}}
	}
	if f.Again != "" {
		r.Properties = map[string]any{"again": phrase.Clip(f.Again, phrase.MostText),
			"report": phrase.Clip(f.Dir, phrase.MostText)}
	}
	return r
}

// location points at the file that a person can change. Where there is none, it is the scenario's
// place in lockchaos's own sources, for a result without a location is not shown at all.
func location(f reports.Finding) (l sarifLocation) {
	file, line := f.File, f.Line
	if file == "" {
		l.Physical.Artifact.Base = baseOurs
		file, line = "scenarios", 1
		if name, number, ok := strings.Cut(f.Builtin, ":"); ok {
			file = name
			fmt.Sscan(number, &line)
		}
	}
	l.Physical.Artifact.URI = (&url.URL{Path: file}).EscapedPath()
	l.Physical.Region.Line = max(line, 1)
	if f.Scenario != "" {
		l.Logical = []sarifLogical{{phrase.Clip(f.Scenario, phrase.MostName), "module"}}
	}
	return l
}
