// Package authority makes certificates for tests: an authority of a test's own, and what it signs.
package authority

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// Authority signs certificates. Its files go with the test.
type Authority struct {
	// File holds its own certificate.
	File string

	dir  string
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// New makes an authority.
func New(t testing.TB) *Authority {
	t.Helper()
	a := &Authority{dir: t.TempDir()}
	// the servers of a test may run as another user
	if err := os.Chmod(a.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	a.cert = template("authority of " + t.Name())
	a.cert.IsCA, a.cert.BasicConstraintsValid, a.cert.KeyUsage = true, true, x509.KeyUsageCertSign
	der, key := a.sign(t, a.cert, a.cert, nil)
	a.key = key
	a.File = a.write(t, "ca.pem", "CERTIFICATE", der)
	return a
}

// Issue makes a certificate for a name, as a server's and as a client's, and returns its file and
// that of its key. change, if any, changes it before it is signed.
func (a *Authority) Issue(t testing.TB, name string, change ...func(*x509.Certificate)) (cert, key string) {
	t.Helper()
	c := template(name)
	c.DNSNames = []string{name}
	c.KeyUsage = x509.KeyUsageDigitalSignature
	c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	for _, f := range change {
		f(c)
	}
	der, private := a.sign(t, c, a.cert, a.key)
	text, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := rand.Text()
	return a.write(t, file+".pem", "CERTIFICATE", der), a.write(t, file+".key", "PRIVATE KEY", text)
}

// Good leaves a certificate as it is.
func Good(*x509.Certificate) {}

// Expired makes a certificate that was good until yesterday.
func Expired(c *x509.Certificate) {
	c.NotBefore, c.NotAfter = time.Now().AddDate(-1, 0, 0), time.Now().AddDate(0, 0, -1)
}

func template(name string) *x509.Certificate {
	return &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0)}
}

// sign signs a certificate with the parent's key; nil: with its own.
func (a *Authority) sign(t testing.TB, c, parent *x509.Certificate, by *ecdsa.PrivateKey) (der []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if by == nil {
		by = key
	}
	if der, err = x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, by); err != nil {
		t.Fatal(err)
	}
	return der, key
}

func (a *Authority) write(t testing.TB, name, kind string, der []byte) string {
	t.Helper()
	file := filepath.Join(a.dir, name)
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
