package shell

import (
	"fmt"
	"strings"
	"time"

	"github.com/lockchaos/lockchaos/adapter"
	"github.com/lockchaos/lockchaos/clients"
)

// The variables that every command finds in its environment. Nothing is pasted into the command.
const (
	keyVar     = "LOCKCHAOS_KEY"     // which key
	clientVar  = "LOCKCHAOS_CLIENT"  // who wants it: c3
	grantVar   = "LOCKCHAOS_GRANT"   // a value that no other grant has
	outputVar  = "LOCKCHAOS_OUTPUT"  // after the acquire: what that printed
	holdVar    = "LOCKCHAOS_HOLD"    // a command that prints a line, and ends with its input
	nodesVar   = "LOCKCHAOS_NODES"   // host:port of each node, with commas between
	serviceVar = "LOCKCHAOS_SERVICE" // the service, or "none"
	dirVar     = "LOCKCHAOS_DIR"     // a folder that all clients share

	ttlVar        = "LOCKCHAOS_TTL_MS"
	ttlSecondsVar = "LOCKCHAOS_TTL_S" // whole seconds, rounded up
	// How long the command may take, a little less than that.
	timeoutVar        = "LOCKCHAOS_TIMEOUT_MS"
	timeoutSecondsVar = "LOCKCHAOS_TIMEOUT_S" // with a fraction: 1.950

	urlsVar    = "LOCKCHAOS_URLS" // those of the nodes, where lockchaos was given URLs
	caVar      = "LOCKCHAOS_CACERT"
	certVar    = "LOCKCHAOS_CERT"
	certKeyVar = "LOCKCHAOS_CERT_KEY"

	userVar     = "LOCKCHAOS_USER"
	passwordVar = "LOCKCHAOS_PASSWORD"
	databaseVar = "LOCKCHAOS_DATABASE"
)

// Hold is the command in $LOCKCHAOS_HOLD, for tools that run a command while they hold a lock. It
// prints granted, and waits for the end of its input.
const (
	Hold    = "echo " + granted + "; exec cat >/dev/null"
	granted = "held"
)

// fixed are the variables that are the same for all commands of a client.
func fixed(c clients.Config) []string {
	ttl := c.TTL
	at := &adapter.Greeting{Account: (*adapter.Account)(c.Account)}
	if err := at.Locate(c.Nodes); err != nil {
		at.Nodes = c.Nodes // the command says what it makes of them
	}
	all := []string{
		clientVar + "=" + fmt.Sprintf("c%d", c.Client), nodesVar + "=" + strings.Join(at.Nodes, ","), holdVar + "=" + Hold,
		ttlVar + "=" + fmt.Sprint(ttl.Milliseconds()), ttlSecondsVar + "=" + fmt.Sprint(int64((ttl+time.Second-1)/time.Second)),
	}
	if c.Adapter != nil {
		all = append(all, serviceVar+"="+c.Adapter.Service, dirVar+"="+c.Adapter.Shared)
	}
	if len(at.URLs) > 0 {
		all = append(all, urlsVar+"="+strings.Join(at.URLs, ","))
	}
	if at.TLS != nil {
		all = append(all, caVar+"="+at.TLS.CACert, certVar+"="+at.TLS.Cert, certKeyVar+"="+at.TLS.Key)
	}
	if at.Account != nil {
		all = append(all, userVar+"="+at.Account.User, passwordVar+"="+at.Account.Password,
			databaseVar+"="+at.Account.Database)
	}
	return all
}

// within are the variables that say how long a command may take. It is told a little less, so that
// it can answer in time.
func within(left time.Duration) []string {
	left -= min(left/4, 250*time.Millisecond)
	return []string{timeoutVar + "=" + fmt.Sprint(left.Milliseconds()), timeoutSecondsVar + "=" + fmt.Sprintf("%.3f", left.Seconds())}
}
