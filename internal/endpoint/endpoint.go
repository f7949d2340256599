// Package endpoint reads the addresses of servers: host:port, or a URL as the field writes it, such
// as rediss://user:password@host:6380/0 or postgres://user@host/db?sslmode=verify-full.
//
// The files that TLS needs stand in the URL's query: cacert, cert and key. So an address is one
// text wherever it is handed on. It may hold a password: show String, never the text.
package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Endpoint is one address.
type Endpoint struct {
	url *url.URL // nil: it is host:port alone
	at  string   // host:port
}

// Files are what TLS needs: certificates that are trusted, and the client's own with its key. Those
// that are "" are not used; without CACert the machine's own authorities are trusted.
type Files struct {
	CACert string `json:"cacert,omitempty"`
	Cert   string `json:"cert,omitempty"`
	Key    string `json:"key,omitempty"`
}

// The names of the files in a URL's query.
const (
	paramCACert = "cacert"
	paramCert   = "cert"
	paramKey    = "key"
)

// Creds is the parameter that names the file with a NATS user's credentials.
const Creds = "creds"

// paramCluster is of a server that sends clients on to others: the name under which these were
// found.
const paramCluster = "cluster"

// ports are the usual ports of servers, by the schemes that are known.
var ports = map[string]string{
	"redis": "6379", "rediss": "6379", "http": "80", "https": "443",
	"postgres": "5432", "postgresql": "5432", "mysql": "3306", "nats": "4222", "tls": "4222",
	"zk": "2181", "zks": "2281", "redis" + sentinel: "26379", "rediss" + sentinel: "26379",
}

// sentinel ends the schemes of sentinels, which name a Redis server that is the primary.
const sentinel = "+sentinel"

// paramOpen is of a sentinel that asks nobody for a password, though its Redis servers do.
const paramOpen = "open"

// Parse reads an address. An error does not show the password.
func Parse(address string) (Endpoint, error) {
	if !strings.Contains(address, "://") {
		return Endpoint{at: address}, checkHostPort(address)
	}
	u, err := url.Parse(address)
	if err != nil {
		// the error would show the password
		return Endpoint{}, errors.New("it is no URL: write what is not a letter or digit in a password as %XX (@ is %40, / is %2F)")
	}
	usual, known := ports[u.Scheme]
	if !known {
		return Endpoint{}, fmt.Errorf("%s: no address begins with %s://", u.Redacted(), u.Scheme)
	}
	port := u.Port()
	if port == "" {
		port = usual
	}
	e := Endpoint{url: u, at: net.JoinHostPort(u.Hostname(), port)}
	return e, checkHostPort(e.at)
}

func checkHostPort(at string) error {
	host, port, err := net.SplitHostPort(at)
	if n, wrong := strconv.ParseUint(port, 10, 16); err == nil && wrong == nil && host != "" && n > 0 {
		return nil
	}
	return fmt.Errorf("%q is no address: want HOST:PORT", at)
}

// HostPort is where to connect.
func (e Endpoint) HostPort() string { return e.at }

// Host is the server's name, or its IP address.
func (e Endpoint) Host() string {
	host, _, _ := net.SplitHostPort(e.at) // Parse has looked
	return host
}

// Name is the server's name; "": the address is an IP address.
func (e Endpoint) Name() string {
	if _, err := netip.ParseAddr(e.Host()); err == nil {
		return ""
	}
	return e.Host()
}

// Port is the server's port.
func (e Endpoint) Port() string {
	_, port, _ := net.SplitHostPort(e.at)
	return port
}

// Scheme is that of the URL; "": the address is host:port alone.
func (e Endpoint) Scheme() string {
	if e.url == nil {
		return ""
	}
	return e.url.Scheme
}

// Account returns the user and the password in the URL.
func (e Endpoint) Account() (user, password string) {
	if e.url == nil {
		return "", ""
	}
	password, _ = e.url.User.Password()
	return e.url.User.Username(), password
}

// Database is the URL's path: of Redis a number. "": none is named.
func (e Endpoint) Database() string {
	if e.url == nil {
		return ""
	}
	return strings.Trim(e.url.Path, "/")
}

// Param returns a parameter of the URL's query.
func (e Endpoint) Param(name string) string {
	if e.url == nil {
		return ""
	}
	return e.url.Query().Get(name)
}

// Sealed reports whether clients speak TLS to the server, so that nobody between can read requests.
// PostgreSQL's clients prefer to if the URL does not say.
func (e Endpoint) Sealed() bool {
	switch e.Scheme() {
	case "rediss", "rediss" + sentinel, "https", "tls", "zks":
		return true
	case "postgres", "postgresql":
		return e.Param("sslmode") != "disable"
	case "mysql":
		return !slices.Contains([]string{"", "false", "0"}, e.Param("tls"))
	}
	return false
}

// Files are those that TLS needs.
func (e Endpoint) Files() Files {
	return Files{CACert: e.Param(paramCACert), Cert: e.Param(paramCert), Key: e.Param(paramKey)}
}

// With returns the endpoint with the files for TLS. Those that its URL names itself stay.
func (e Endpoint) With(f Files) Endpoint {
	if e.url == nil {
		return e
	}
	query := e.url.Query()
	for name, file := range map[string]string{paramCACert: f.CACert, paramCert: f.Cert, paramKey: f.Key} {
		if file != "" && !query.Has(name) {
			query.Set(name, file)
		}
	}
	return e.queried(query)
}

// Clustered returns the endpoint as one of several servers that send clients on to each other, and
// that these have found under a name.
func (e Endpoint) Clustered(name string) Endpoint {
	if e.url == nil {
		return e
	}
	query := e.url.Query()
	query.Set(paramCluster, name)
	return e.queried(query)
}

// Clusters reports whether the server is one of several that send clients on to each other.
func (e Endpoint) Clusters() bool { return e.Param(paramCluster) != "" }

// Sentinel reports whether the server is a sentinel: the path of its URL is what sentinels call the
// primary, and user and password are those of the Redis servers.
func (e Endpoint) Sentinel() bool { return strings.HasSuffix(e.Scheme(), sentinel) }

// Server returns the endpoint of a Redis server at a place that a sentinel tells.
func (e Endpoint) Server(hostPort string) Endpoint {
	if !e.Sentinel() {
		return e.At(hostPort)
	}
	u := *e.Without(paramOpen).url
	u.Scheme, u.Path, u.Host = strings.TrimSuffix(u.Scheme, sentinel), "", hostPort
	return Endpoint{url: &u, at: hostPort}
}

// Speaker returns the endpoint of a sentinel as one that is spoken to like a Redis server; any
// other as it is.
func (e Endpoint) Speaker() Endpoint {
	if !e.Sentinel() {
		return e
	}
	s := e.Server(e.at)
	if e.Open() {
		s.url.User = nil
	}
	return s
}

// Open reports whether a sentinel asks for no password.
func (e Endpoint) Open() bool { return e.Param(paramOpen) != "" }

// Opened returns the endpoint of a sentinel that asks for no password.
func (e Endpoint) Opened() Endpoint {
	query := e.url.Query()
	query.Set(paramOpen, "1")
	return e.queried(query)
}

// certified is the name for which the server's certificate must be. A server that is announced by
// its IP address has that of the name under which clients found it.
func (e Endpoint) certified() string {
	if known := e.Param(paramCluster); known != "" && e.Name() == "" {
		return known
	}
	return e.Host()
}

// Absolute returns the endpoint with whole paths of the files that its URL names, so that processes
// that start elsewhere find them.
func (e Endpoint) Absolute() (Endpoint, error) {
	if e.url == nil {
		return e, nil
	}
	query := e.url.Query()
	for _, name := range []string{paramCACert, paramCert, paramKey, Creds} {
		if !query.Has(name) {
			continue
		}
		whole, err := filepath.Abs(query.Get(name))
		if err != nil {
			return e, err
		}
		query.Set(name, whole)
	}
	return e.queried(query), nil
}

func (e Endpoint) queried(query url.Values) Endpoint {
	u := *e.url
	u.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20") // PostgreSQL's clients know no other blank
	return Endpoint{url: &u, at: e.at}
}

// At returns the endpoint with another place to connect to.
func (e Endpoint) At(hostPort string) Endpoint {
	if e.url == nil {
		return Endpoint{at: hostPort}
	}
	u := *e.url
	u.Host = hostPort
	return Endpoint{url: &u, at: hostPort}
}

// Address is the text that Parse makes the same endpoint of. It may hold a password.
func (e Endpoint) Address() string {
	if e.url == nil {
		return e.at
	}
	return e.url.String()
}

// URL is the address as clients of the field read it, without the names of files; "": it is
// host:port alone. It may hold a password.
func (e Endpoint) URL() string {
	if e.url == nil {
		return ""
	}
	return e.native().url.String()
}

func (e Endpoint) native() Endpoint {
	return e.Without(paramCACert, paramCert, paramKey, paramCluster, paramOpen)
}

// Without returns the endpoint without parameters of its URL's query.
func (e Endpoint) Without(params ...string) Endpoint {
	if e.url == nil {
		return e
	}
	query := e.url.Query()
	for _, name := range params {
		query.Del(name)
	}
	return e.queried(query)
}

// String is the address without user and password, for people to read.
func (e Endpoint) String() string {
	if e.url == nil {
		return e.at
	}
	shown := *e.native().url
	shown.User = nil
	return shown.String()
}

// TLS returns what a client needs to speak TLS with the server; nil: it does not. The server's
// certificate must be for the host of the address, or for the name of its cluster.
func (e Endpoint) TLS() (*tls.Config, error) {
	if !e.Sealed() {
		return nil, nil
	}
	f := e.Files()
	config := &tls.Config{ServerName: e.certified(), MinVersion: tls.VersionTLS12}
	if f.CACert != "" {
		text, err := os.ReadFile(f.CACert)
		if err != nil {
			return nil, fmt.Errorf("--%s: %w", paramCACert, err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("--%s: %s holds no certificate: want PEM, which begins with -----BEGIN CERTIFICATE-----", paramCACert, f.CACert)
		}
	}
	if f.Cert == "" && f.Key == "" {
		return config, nil
	}
	if f.Cert == "" || f.Key == "" {
		return nil, fmt.Errorf("--%s and --%s belong together: give both, or none", paramCert, paramKey)
	}
	own, err := tls.LoadX509KeyPair(f.Cert, f.Key)
	if err != nil {
		return nil, fmt.Errorf("--%s %s, --%s %s: %w", paramCert, f.Cert, paramKey, f.Key, err)
	}
	config.Certificates = []tls.Certificate{own}
	return config, nil
}
