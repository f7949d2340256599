package runtimes

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/lockchaos/lockchaos/internal/backends"
	"github.com/lockchaos/lockchaos/internal/hosts/docker"
	"github.com/lockchaos/lockchaos/internal/spelling"
)

// LocalImage is what scripts/images calls an image that it made without a registry.
func LocalImage(kind string) string { return "lockchaos-local/" + kind }

// ImageVar names the environment variable that sets an image: LOCKCHAOS_IMAGE_REDIS.
func ImageVar(kind string) string {
	return "LOCKCHAOS_IMAGE_" + strings.ToUpper(strings.ReplaceAll(kind, "-", "_"))
}

// ImageKinds lists what images can be set for.
func ImageKinds() (kinds []string) {
	for _, p := range backends.Programs() {
		kinds = append(kinds, p.Name)
	}
	sort.Strings(kinds)
	return kinds
}

// officialImage is the project's own image; "": it has none.
func officialImage(kind string) string {
	for _, p := range backends.Programs() {
		if p.Name == kind {
			return p.Image
		}
	}
	if kind == programImage {
		return "ghcr.io/lockchaos/lockchaos:latest"
	}
	return ""
}

// ImageSettings are the images that the user chose, by the environment or by
// flags of the form redis=IMAGE, which win.
func ImageSettings(flags []string) (map[string]string, error) {
	set, kinds := map[string]string{}, append(ImageKinds(), programImage)
	for _, kind := range kinds {
		if image := os.Getenv(ImageVar(kind)); image != "" {
			set[kind] = image
		}
	}
	for _, f := range flags {
		kind, image, ok := strings.Cut(f, "=")
		switch {
		case !ok || image == "":
			return nil, fmt.Errorf("--image %s: want NAME=IMAGE, such as redis=%s", f, officialImage("redis"))
		case !slices.Contains(kinds, kind):
			return nil, fmt.Errorf("--image %s: there is no image for %q%s; there are %s", f, kind,
				spelling.Suggest(kind, kinds), strings.Join(kinds, ", "))
		}
		set[kind] = image
	}
	return set, nil
}

// candidates are the images that may serve, the best first: the user's choice
// alone, else the official one, else one that was made here.
func candidates(settings map[string]string, kind string) []string {
	if image := settings[kind]; image != "" {
		return []string{image}
	}
	var all []string
	if image := officialImage(kind); image != "" {
		all = append(all, image)
	}
	return append(all, LocalImage(kind))
}

// Present returns the first candidate that the engine has; "" if it has none.
func Present(ctx context.Context, engine *docker.Engine, settings map[string]string, kind string) (string, error) {
	for _, image := range candidates(settings, kind) {
		if _, ok, err := engine.Has(ctx, image); ok || err != nil {
			return image, err
		}
	}
	return "", nil
}

// obtain returns the image for a kind, fetched from its registry if the engine has no candidate.
func obtain(ctx context.Context, engine *docker.Engine, settings map[string]string, kind string,
	say func(string)) (string, error) {
	image, err := Present(ctx, engine, settings, kind)
	if image != "" || err != nil {
		return image, err
	}
	image = candidates(settings, kind)[0]
	say("pulling image " + image)
	if err := engine.Pull(ctx, image); err != nil {
		return "", fmt.Errorf("%w; is the name right? Another image: --image %s=NAME or %s; without a registry: scripts/images %s makes %s",
			err, kind, ImageVar(kind), kind, LocalImage(kind))
	}
	return image, nil
}
