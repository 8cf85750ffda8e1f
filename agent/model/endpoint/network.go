package endpoint

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strings"
	"syscall"

	"github.com/wherry-acp/wherry/agent/model"
)

// network explains why no answer came at all.
func (c *Call) network(err error) *model.Error {
	return &model.Error{Kind: model.ErrNetwork, Err: bare(err), Message: c.networkMessage(err)}
}

func (c *Call) networkMessage(err error) string {
	var (
		dns        *net.DNSError
		op         *net.OpError
		unknown    x509.UnknownAuthorityError
		invalid    x509.CertificateInvalidError
		name       x509.HostnameError
		verify     *tls.CertificateVerificationError
		record     tls.RecordHeaderError
		listening  = c.e.Start
		viaProxy   = "HTTPS_PROXY, HTTP_PROXY and NO_PROXY"
		changeAddr = ""
	)
	if c.e.BaseVar != "" {
		changeAddr = fmt.Sprintf(", and the address in %s", c.e.BaseVar)
	}
	switch {
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return fmt.Sprintf("the proxy for %s cannot be reached: %s. Check %s", c.host, cause(op.Err), viaProxy)
	case errors.As(err, &dns):
		return fmt.Sprintf("the host %s cannot be found (DNS). Check the network%s, and if a proxy is needed here, %s", dns.Name, changeAddr, viaProxy)
	case errors.As(err, &unknown), errors.As(err, &invalid), errors.As(err, &name), errors.As(err, &verify):
		return fmt.Sprintf("the certificate of %s is not trusted: %s. If a proxy of your network inspects TLS, put its certificate's file into SSL_CERT_FILE", c.host, cause(err))
	case errors.As(err, &record), err != nil && strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s does not speak TLS. Check whether the address should begin with http://%s", c.host, changeAddr)
	case errors.Is(err, syscall.ECONNREFUSED) && listening != "":
		return fmt.Sprintf("nothing listens at %s. %s", c.host, listening)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("%s refuses the connection. Check the network%s", c.host, changeAddr)
	case errors.Is(err, os.ErrDeadlineExceeded), isTimeout(err):
		return fmt.Sprintf("%s does not answer. Check the network, and if a proxy is needed here, %s", c.host, viaProxy)
	}
	return fmt.Sprintf("%s cannot be reached: %s. Check the network%s", c.host, cause(err), changeAddr)
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// bare strips what may hold an address with credentials: the URL around a transport's error.
func bare(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// cause is the innermost reason, short.
func cause(err error) string {
	if err == nil {
		return "no reason given"
	}
	err = bare(err)
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	var verify *tls.CertificateVerificationError
	if errors.As(err, &verify) {
		err = verify.Err
	}
	return clip(err.Error(), 160)
}
