package app

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/internal/hosts"
	"github.com/lockchaos/lockchaos/internal/redact"
	"github.com/lockchaos/lockchaos/scenarios"
)

// commandHooks are the hooks of a client that are commands in its container.
//
// A fresh process in a container whose processes are stopped runs all the same. So nothing
// is started in one; and what is frozen while a command is on its way gets its question,
// without which it can't do anything, only when it goes on. Once the question is asked the
// command is one of the container's processes, and a fault that stops those stops it.
type commandHooks struct {
	run    *run
	client *client
}

// commandStart bounds how long a command may take from when it is asked for until it runs,
// beside what faults take. It takes a tenth of a second, unless the machine is overloaded.
const commandStart = time.Minute

// errSilent says that a hook has not answered in time.
var errSilent = errors.New("no answer in time")

// call runs the command.
func (h *commandHooks) call(ctx context.Context, hook scenarios.AppHook, question []byte,
	limit time.Duration) (answer hookAnswer, err error) {
	if err := h.run.director.AwaitThaw(ctx, h.client.number); err != nil {
		return answer, err
	}
	late := fmt.Errorf("it has not started after %v", commandStart+h.run.patience())
	running, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	timer := time.AfterFunc(commandStart+h.run.patience(), func() { stop(late) })
	defer func() { timer.Stop() }()
	var process *hosts.Process
	ended, err := h.run.cfg.Execute(running, h.client.Name, hook.Command, question, func(pid int) (err error) {
		process, err = h.client.host.Find(pid)
		if errors.Is(err, os.ErrProcessDone) {
			return nil // how it ended is about to be told
		}
		if err == nil {
			err = h.run.director.AwaitThaw(running, h.client.number)
		}
		if err == nil && timer.Stop() {
			timer = time.AfterFunc(limit, func() { stop(errSilent) })
		}
		return err
	})
	if err == nil {
		if err := h.keep(hook, ended.Stderr); err != nil {
			return answer, err
		}
		return h.answer(hook, ended)
	}
	if process != nil {
		if undead := h.end(ctx, process); undead != nil {
			return answer, h.wrong(hook, "%v", undead)
		}
	}
	switch {
	case ctx.Err() != nil:
		return answer, context.Cause(ctx)
	case context.Cause(running) == errSilent:
		return answer, errSilent
	case context.Cause(running) == late:
		return answer, h.wrong(hook, "%v", late)
	}
	return answer, h.wrong(hook, "%v", err)
}

// end ends a command that nobody waits for any more: what it would do later nobody could tell.
// One that is frozen ends when the fault is over, for it is the fault's proof that it was.
func (h *commandHooks) end(ctx context.Context, p *hosts.Process) error {
	_ = h.run.director.AwaitThaw(ctx, h.client.number) // at once, if the run is over
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	return p.Kill(limited)
}

// endLimit bounds how long a command that was killed may take to be gone.
const endLimit = 10 * time.Second

// answer is what the command has printed.
func (h *commandHooks) answer(hook scenarios.AppHook, ended hosts.Executed) (a hookAnswer, err error) {
	switch text := bytes.TrimSpace(ended.Stdout); {
	case ended.Status != 0:
		return a, h.wrong(hook, "exit status %d%s (a hook exits with 0 and prints {\"ok\": …}, whatever came of the op)%s", ended.Status, lastLine(ended), lastLines(ended))
	case len(ended.Stdout) >= hookReply:
		return a, h.wrong(hook, "the answer has %d bytes or more: a hook prints one JSON object", hookReply)
	case len(text) == 0 || text[0] != '{':
		return a, h.wrong(hook, "the answer is no JSON object%s%s", lastLine(ended), lastLines(ended))
	default:
		if err := json.Unmarshal(text, &a); err != nil {
			return a, h.wrong(hook, "the answer is no JSON object: %v%s%s", err, lastLine(ended), lastLines(ended))
		}
		return a, nil
	}
}

// keep adds what a hook has said on standard error to the client's log of hooks.
func (h *commandHooks) keep(hook scenarios.AppHook, text []byte) error {
	if len(text) == 0 {
		return nil
	}
	f, err := os.OpenFile(filepath.Join(h.run.cfg.Logs, h.client.Name+"-hooks.log"),
		os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep what hook %s of %s says: %w", hook, h.client.Name, err)
	}
	_, err = fmt.Fprintf(f, "%s %s:\n%s\n", time.Now().UTC().Format(time.RFC3339Nano), hook,
		redact.Text(strings.TrimSpace(string(text))))
	return errors.Join(err, f.Close())
}

// wrong is an error that names the client and the hook.
func (h *commandHooks) wrong(hook scenarios.AppHook, format string, args ...any) error {
	return &hookError{redact.Text(fmt.Sprintf("%s: hook %s: ", h.client.Name, hook) + fmt.Sprintf(format, args...))}
}

// saidLines is how many lines of what a hook printed an error shows.
const saidLines = 8

// outputEnd is the end of what a command has printed: on stderr, or on stdout where
// it had nothing to say there.
func outputEnd(e hosts.Executed) []string {
	for _, text := range [][]byte{e.Stderr, e.Stdout} {
		lines := strings.Split(strings.ToValidUTF8(strings.TrimSpace(string(text)), "\uFFFD"), "\n")
		if lines[0] != "" {
			return lines[max(0, len(lines)-saidLines):]
		}
	}
	return []string{"nothing"}
}

// lastLine is the last line that a command has printed, for the first line of
// an error; lastLines are more, if there are, for those below.
func lastLine(e hosts.Executed) string {
	lines := outputEnd(e)
	return "; it printed " + lines[len(lines)-1]
}

func lastLines(e hosts.Executed) string {
	lines := outputEnd(e)
	if len(lines) == 1 {
		return ""
	}
	return "; the end of it:\n\t" + strings.Join(lines, "\n\t")
}
