//go:build !(linux && (amd64 || arm64))

package crash

func handle() {}
