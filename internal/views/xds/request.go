package xds

import (
	"slices"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// pause holds up a request of a stream whose identity says more than its proxies have to, so
// that it takes the time of no other. What is to be sent goes meanwhile, unless others wait for
// the slot: a client may be slow to read.
func (c *client) pause(h *clientRequest) error {
	names := len(h.wish.more) + len(h.wish.fewer) + len(h.wish.has)
	if h.text != "" {
		names += namesOfRejection
	}
	surplus := c.say(names)
	if surplus <= 0 {
		return nil
	}
	replies := c.replies
	if h.slot != nil {
		replies = nil
	}
	timer := time.NewTimer(time.Duration(surplus / namesASecond * float64(time.Second)))
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			return nil
		case <-c.ended:
			return nil
		case r := <-replies:
			if err := c.send(r); err != nil {
				return err
			}
		}
	}
}

// settle sends what is to be sent before a request of a kind is heard, so that nothing is sent
// after it that it forgets, and that there is room for the answers to it.
func (c *client) settle(kind envoyconfig.Kind, held *slot) error {
	if held != nil {
		held.late.Reset(requestTime)
		defer held.late.Stop()
	}
	if c.protocol == Envoy {
		c.wants[kind].rest()
	}
	for len(c.replies) > 0 {
		if err := c.send(<-c.replies); err != nil {
			return err
		}
	}
	return nil
}

// hear handles a request, which takes no time of the client but for what it is sent before.
func (c *client) hear(h clientRequest) error {
	if h.slot != nil {
		h.slot.late.Stop()
		defer h.slot.leave()
	}
	if err := c.admit(h.node); err != nil {
		return err
	}
	if blind := c.server.opts.Blind; h.has && c.wants[0] == nil && blind != nil && blind() {
		return status.Error(codes.Unavailable, "this replica is cut off from its API server, and what the client has may be newer; keep it, and connect to another replica")
	}
	c.server.join(c)
	kind, served := kindOf(h.typeURL)
	switch {
	case h.typeURL == "":
		return status.Error(codes.InvalidArgument, "the request has no type URL; name the type of resources that it asks for")
	case served && max(len(h.wish.more), len(h.wish.fewer), len(h.wish.has)) > mostNames:
		return errTooMany(kind)
	}
	if err := c.pause(&h); err != nil || !served {
		return err // what is not served is never answered, and nothing of it is remembered
	}
	if err := c.settle(kind, h.slot); err != nil {
		return err
	}
	newest := c.kinds[kind].newest
	if newest == "" {
		h.nonce = "" // before the first answer of a kind a request says nothing to any
	}
	answered, err := c.note(kind, &h)
	if err != nil {
		return err
	}
	if answered {
		c.said(kind, h.text)
	}
	if answered || len(h.wish.gone) > 0 {
		defer transport.Signal(c.server.news)
	}
	switch {
	case c.protocol == Envoy:
		return c.wants[kind].delta(h.wish, h.nonce)
	case h.nonce == newest:
		return c.wants[kind].world(h.wish.more, newest == "")
	}
	return nil // what it says to an older answer it says again to the newest
}

// said tells what a client says to an answer; text is empty where it acknowledges it.
func (c *client) said(kind envoyconfig.Kind, text string) {
	of := &c.server.stats.of[c.protocol][kind]
	if text == "" {
		of.acks.Add(1)
		return
	}
	of.rejections.Add(1)
	c.server.opts.Logger.Warn("a client rejects its newest configuration, and keeps the previous one", "client", c.name(), "node", c.node.GetId(),
		"type", kind.String(), "message", text)
}

// note notes a request for a type that is served, and reports whether it says something to
// an answer.
func (c *client) note(kind envoyconfig.Kind, h *clientRequest) (answered bool, err error) {
	p, now := &c.kinds[kind], time.Now()
	if !p.asked { // only this stream changes it
		var foreign map[string]int
		if c.protocol == Envoy {
			if foreign, err = c.bring(kind, &h.wish); err != nil {
				return false, err
			}
		}
		first := begun(h.wish.has, foreign, now)
		locked(&c.mu, func() { *p = first })
	}
	freed := 0
	for names := range slices.Chunk(h.wish.fewer, piece) {
		locked(&c.mu, func() { freed += p.forget(names) })
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if h.nonce != "" {
		to, fewer := p.hear(h.nonce, h.text, now)
		answered, freed = to != nil, freed+fewer
		switch {
		case answered && c.protocol == GRPC && h.text == "": // it speaks of all that it asks for
			p.rejected = nil
		case answered && c.protocol == Envoy && h.text != "":
			c.wants[kind].split(to)
		}
	}
	return answered, c.keep(-freed)
}

// bring takes over what an Envoy says it has when it begins. What is there has the text of the
// resource; what is not is foreign, and counts. Of clusters and listeners the client is told
// later that they are gone: the replica that it comes from may know more.
func (c *client) bring(kind envoyconfig.Kind, w *wish) (foreign map[string]int, err error) {
	later := kind == envoyconfig.Clusters || kind == envoyconfig.Listeners
	has := make(map[string]string, len(w.has))
	w.gone = make(map[string]struct{})
	foreign = make(map[string]int)
	for name, version := range w.has {
		if len(version) > longestVersion {
			version = "" // none of ours
		}
		if r := c.wants[kind].of.get(name); r != nil {
			if version == r.version() {
				version = r.version()
			}
			has[r.name] = version
			continue
		}
		foreign[name] = versionCost + len(name) + len(version)
		if err := c.keep(foreign[name]); err != nil {
			return nil, err
		}
		if has[name] = version; later {
			w.gone[name] = struct{}{}
		}
	}
	w.has = has
	return foreign, nil
}
