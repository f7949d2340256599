package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// answerWithin bounds one request to the ledger.
const answerWithin = 2 * time.Second

// books are the ledger as its clients see it.
type books struct{ url string }

// next asks which order is to be paid.
func (b books) next(ctx context.Context, g *grant) (order int64, err error) {
	text, err := b.ask(ctx, http.MethodGet, "/next", url.Values{"token": {strconv.FormatInt(g.token, 10)}})
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

// pay pays an order.
func (b books) pay(ctx context.Context, g *grant, order int64) error {
	_, err := b.ask(ctx, http.MethodPost, "/pay", url.Values{"token": {strconv.FormatInt(g.token, 10)},
		"order": {strconv.FormatInt(order, 10)}})
	return err
}

// ask sends a request. errStale: the fence has refused it.
func (b books) ask(ctx context.Context, method, path string, values url.Values) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, b.url+path+"?"+values.Encode(), nil)
	if err != nil {
		return "", err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	switch {
	case err != nil:
		return "", err
	case answer.StatusCode == http.StatusConflict:
		return "", errStale
	case answer.StatusCode != http.StatusOK:
		return "", errors.New(answer.Status)
	}
	return string(text), nil
}

// payments prints what the ledger of this pod tells of its payments.
func payments(ctx context.Context, out io.Writer) error {
	text, err := books{"http://localhost:8080"}.ask(ctx, http.MethodGet, "/payments", nil)
	if err == nil {
		_, err = fmt.Fprint(out, text)
	}
	return err
}
