package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/lockchaos/lockchaos/internal/endpoint"
)

// Explain says of an error of connecting what to do about it.
func (s Service) Explain(at endpoint.Endpoint, err error) error {
	if what := s.denied(err); what != "" {
		user, _ := at.Account()
		if user == "" {
			user = "the user"
		}
		return fmt.Errorf("%s may not do what locks need: %s: give %s that right for all names with lockchaos in them (docs/external.md)", user, what, user)
	}
	if s.login(err) {
		return fmt.Errorf("log in: %w: the user and the password belong into the address: %s", err, s.Forms)
	}
	if hint := hint(at, err); hint != "" {
		return fmt.Errorf("%w: %s", err, hint)
	}
	return err
}

// hint says what to do about an error of the network or of TLS; "": it is another.
func hint(at endpoint.Endpoint, err error) string {
	if name, ok := errors.AsType[*net.DNSError](err); ok && name.IsNotFound {
		return "this machine knows no host of that name: correct the name, or give its address by /etc/hosts or --connect-to " + at.HostPort() + "=ADDRESS:PORT"
	}
	if why := certificate(at, err); why != "" {
		return why
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the server does not speak TLS at this port: correct the port, or the URL's scheme"
	}
	if alert, ok := errors.AsType[tls.AlertError](err); ok {
		return refused(alert)
	}
	if alert := received(err); alert != nil {
		return refused(alert)
	}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "no server listens there: does it run, and is that its address as this machine sees it?"
	case errors.Is(err, context.DeadlineExceeded):
		return "it does not answer in time: is that its address as this machine sees it, and does a firewall let it through?"
	case errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		if at.Sealed() {
			return "the server hangs up: does it speak TLS at this port, and does it want a client's certificate (--cert, --key)?"
		}
		return "the server hangs up: does it want TLS (rediss://, https://, tls://, zks://)?"
	}
	return ""
}

// received is the alert that came over the network: its type is another than that of one's own. The
// error of connecting may be around it.
func received(err error) error {
	for op, ok := errors.AsType[*net.OpError](err); ok; op, ok = errors.AsType[*net.OpError](op.Err) {
		if op.Op == "remote error" {
			return op.Err
		}
	}
	return nil
}

// refused is for the alert by which a server ends a handshake.
func refused(alert error) string {
	if text := alert.Error(); strings.Contains(text, "certificate") || strings.Contains(text, "unknown certificate authority") {
		return "the server refuses this client's certificate, or wants one: give --cert and --key of a client that its authority has signed"
	}
	return "the server refuses the handshake: does it want a client's certificate (--cert, --key), and do the versions of TLS fit?"
}

// certificate says what is wrong with a server's certificate; "": nothing is.
func certificate(at endpoint.Endpoint, err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "its certificate is signed by an authority that this machine does not know: give that authority's certificate by --cacert FILE"
	}
	if wrong, ok := errors.AsType[x509.HostnameError](err); ok {
		return fmt.Sprintf("its certificate is for other names (%s): give one of these in the address, and where it leads by --connect-to NAME:%s=%s",
			strings.Join(wrong.Certificate.DNSNames, ", "), at.Port(), at.HostPort())
	}
	invalid, ok := errors.AsType[x509.CertificateInvalidError](err)
	if !ok {
		return ""
	}
	if invalid.Reason == x509.Expired && invalid.Cert != nil {
		day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 MST") }
		return fmt.Sprintf("its certificate holds from %s to %s: renew it on the server, or set this machine's clock", day(invalid.Cert.NotBefore), day(invalid.Cert.NotAfter))
	}
	return "its certificate cannot be used for a server: make a new one"
}
