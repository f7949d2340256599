// Package requests decides which HTTP requests lockchaos's servers answer. A
// page of any site can have the browser of the machine's user ask them, also
// under a name of its own that leads to 127.0.0.1.
package requests

import (
	"net"
	"net/http"
	"strings"
)

// Refused answers a request that a server does not, and reports whether it did.
// With onlyLoopback it refuses any that names another host than this machine.
func Refused(w http.ResponseWriter, r *http.Request, onlyLoopback bool) bool {
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "only GET and HEAD: nothing can be changed here", http.StatusMethodNotAllowed)
	case onlyLoopback && !loopback(r.Host):
		http.Error(w, "this server answers to localhost alone: it listens on an address of this machine alone",
			http.StatusForbidden)
	case foreign(r):
		http.Error(w, "this server does not answer to pages of other sites, nor to those of runs", http.StatusForbidden)
	default:
		return false
	}
	return true
}

// Loopback reports whether a listener is reached from this machine alone.
func Loopback(l net.Listener) bool {
	at, ok := l.Addr().(*net.TCPAddr)
	return ok && at.IP.IsLoopback()
}

// loopback reports whether a request names this machine's own address.
func loopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = strings.Trim(host, "[]")
	}
	if name == "localhost" {
		return true
	}
	ip := net.ParseIP(name)
	return ip != nil && ip.IsLoopback()
}

// foreign reports whether another site's page asks, or one under the sandbox,
// and not by being left for what is asked for.
func foreign(r *http.Request) bool {
	site := r.Header.Get("Sec-Fetch-Site")
	return (site == "cross-site" || site == "same-site") && r.Header.Get("Sec-Fetch-Mode") != "navigate"
}
