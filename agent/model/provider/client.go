package provider

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"

	"golang.org/x/net/http/httpproxy"
)

// NewHTTPClient makes a client that honours HTTPS_PROXY, HTTP_PROXY and NO_PROXY (in capitals or not) and SSL_CERT_FILE,
// read with lookup (nil: none is set). A host that does not answer fails within 15 seconds. There is no limit on the whole
// request. Its idle connections close by themselves after 90 seconds, or with CloseIdleConnections.
func NewHTTPClient(lookup func(string) (string, bool)) (*http.Client, error) {
	get := func(names ...string) string {
		for _, n := range names {
			if lookup == nil {
				break
			}
			if v, ok := lookup(n); ok && v != "" {
				return v
			}
		}
		return ""
	}
	proxy := (&httpproxy.Config{
		HTTPProxy:  get("HTTP_PROXY", "http_proxy"),
		HTTPSProxy: get("HTTPS_PROXY", "https_proxy"),
		NoProxy:    get("NO_PROXY", "no_proxy"),
	}).ProxyFunc()
	t := &http.Transport{
		Proxy:               func(r *http.Request) (*url.URL, error) { return proxy(r.URL) },
		DialContext:         (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 15 * time.Second}).DialContext,
		TLSHandshakeTimeout: 5 * time.Second,
		ForceAttemptHTTP2:   true,
		MaxIdleConns:        16,
		IdleConnTimeout:     90 * time.Second,
	}
	if file := get("SSL_CERT_FILE"); file != "" {
		pool, err := certificates(file)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{Transport: t}, nil
}

// certificates adds those in file to the system's.
func certificates(file string) (*x509.CertPool, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the certificates that SSL_CERT_FILE names cannot be read: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("the file that SSL_CERT_FILE names, %s, holds no certificate. It must be in PEM format", file)
	}
	return pool, nil
}
