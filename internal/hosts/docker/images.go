package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/client"
	"github.com/testcontainers/testcontainers-go"
)

// Has reports whether the engine has an image, and which: the beginning of its digest.
func (e *Engine) Has(ctx context.Context, image string) (digest string, ok bool, err error) {
	i, err := e.client.ImageInspect(ctx, image)
	switch {
	case errdefs.IsNotFound(err):
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("look for image %s: %w", image, err)
	}
	return short(i.ID), true, nil
}

// short is the beginning of a digest, as docker prints it.
func short(digest string) string {
	const algorithm, letters = len("sha256:"), 12
	if len(digest) < algorithm+letters {
		return digest
	}
	return digest[algorithm : algorithm+letters]
}

// pullLimit bounds how long an image may take to come.
const pullLimit = 10 * time.Minute

// Pull fetches an image from its registry, with the credentials that the docker command has.
func (e *Engine) Pull(ctx context.Context, image string) error {
	ctx, cancel := context.WithTimeout(ctx, pullLimit)
	defer cancel()
	var options client.ImagePullOptions
	// without credentials public images come all the same
	if _, auth, err := testcontainers.DockerImageAuth(ctx, image); err == nil {
		if options.RegistryAuth, err = authconfig.Encode(auth); err != nil {
			return fmt.Errorf("pull image %s: its registry's credentials: %w", image, err)
		}
	}
	pull, err := e.client.ImagePull(ctx, image, options)
	if err == nil {
		err = pull.Wait(ctx)
	}
	if err != nil {
		return fmt.Errorf("pull image %s: %w", image, err)
	}
	return nil
}

// agentName is the repository of the agents' images; the tag is the beginning
// of the program's hash.
const agentName = "lockchaos/agent"

// agentProgram is the path of the program in its image.
const agentProgram = "/lockchaos"

// agentImage is the image that this program would run as an agent in.
var agentImage = sync.OnceValues(func() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	defer f.Close()
	if err := static(f); err != nil {
		return "", err
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read this program: %w", err)
	}
	return agentName + ":" + hex.EncodeToString(h.Sum(nil))[:12], nil
})

// Able tells why this program could not run as an agent; nil: it could.
func Able() error {
	_, err := agentImage()
	return err
}

// static refuses a program that needs a loader, which an image without anything else has not.
func static(f io.ReaderAt) error {
	program, err := elf.NewFile(f)
	if err != nil {
		return fmt.Errorf("read this program: %w", err)
	}
	for _, p := range program.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("this lockchaos is linked dynamically and can't run in a container of its own: build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// needAgent returns the agent's image, which it imports if the engine does not have it.
func (e *Engine) needAgent(ctx context.Context) (image string, err error) {
	if image, err = agentImage(); err != nil {
		return "", err
	}
	e.agent.Lock()
	defer e.agent.Unlock()
	if _, ok, err := e.Has(ctx, image); ok || err != nil {
		return image, err
	}
	content, err := agentLayer()
	if err != nil {
		return "", err
	}
	changes := []string{"ENTRYPOINT [\"" + agentProgram + "\"]", "LABEL " + labelAgent + "=1"}
	told, err := e.client.ImageImport(ctx, client.ImageImportSource{Source: content, SourceName: "-"}, image,
		client.ImageImportOptions{Changes: changes})
	if err != nil {
		return "", fmt.Errorf("import the agent's image: %w", err)
	}
	defer told.Close()
	if _, err := io.Copy(io.Discard, told); err != nil {
		return "", fmt.Errorf("import the agent's image: %w", err)
	}
	if _, ok, err := e.Has(ctx, image); !ok || err != nil {
		return "", errors.Join(errors.New("import the agent's image: the engine took it and does not have it"), err)
	}
	return image, nil
}

// agentLayer is the file system of the agent: this program.
func agentLayer() (io.Reader, error) {
	text, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("read this program: %w", err)
	}
	var layer bytes.Buffer
	w := tar.NewWriter(&layer)
	if err := w.WriteHeader(&tar.Header{Name: agentProgram[1:], Mode: 0o755, Size: int64(len(text))}); err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	return &layer, w.Close()
}
