package views

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
)

// lines reads the stream of one connection and gives each event to take, until one of
// them ends it. Silence ends it too.
func (c *Client) lines(ctx context.Context, server string, query url.Values, take func(wireEvent) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watchdog := time.AfterFunc(longestSilence, func() { cancel(errSilent) })
	defer watchdog.Stop()
	response, err := c.get(ctx, server, query)
	if err != nil {
		return because(ctx, err)
	}
	defer response.Body.Close()
	scanner := bufio.NewScanner(response.Body)
	scanner.Buffer(make([]byte, 0, 64<<10), longestLine)
	for ; scanner.Scan(); watchdog.Reset(longestSilence) {
		watchdog.Stop() // a slow caller makes no server silent
		if len(bytes.TrimSpace(scanner.Bytes())) == 0 {
			continue
		}
		var event wireEvent
		if err := json.Unmarshal(scanner.Bytes(), &event); err != nil {
			return fmt.Errorf("read the stream of %s: %w", server, err)
		}
		if event.Type == Error {
			status := &Status{}
			if err := json.Unmarshal(event.Object, status); err != nil {
				return fmt.Errorf("read the stream of %s: %w", server, err)
			}
			return status
		}
		if err := take(event); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return because(ctx, fmt.Errorf("read the stream of %s: %w", server, err))
	}
	return nil
}

// errSilent ends a stream on which nothing came for too long.
var errSilent = errors.New("the server has sent nothing for 25 s, not even a bookmark")

// because is why a request ended, where its context says so.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// isStatus reports whether an error is an answer with one of these codes.
func isStatus(err error, codes ...int) bool {
	var status *Status
	return errors.As(err, &status) && slices.Contains(codes, status.Code)
}

// tooOld reports whether the server cannot go on from the token.
func tooOld(err error) bool { return isStatus(err, http.StatusGone, http.StatusBadRequest) }
