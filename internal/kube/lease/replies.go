package lease

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// RepliesSuffix makes the name of the Lease of the replies from that of the Lease.
const RepliesSuffix = "-reached"

// replyPrefix begins the annotations of that Lease; the name of a replica follows.
const replyPrefix = "reached.endpoints.ablmnzde.github.io/"

const (
	// mostReplies is how many replicas have a line, mostReply how many bytes one has, and
	// allReplies how many all have. The API server refuses annotations beyond 256 KiB.
	mostReplies, mostReply, allReplies = 16, 64 << 10, 240 << 10
	// mostRaces is how often a line is tried when others write at the same time.
	mostRaces = 10
	// longestLook is how long the replies are watched before they are read again: a right that
	// was taken away is noticed only then.
	longestLook = int64(30) // seconds
)

// Reply writes the line of a replica into the Lease of the replies, none for an empty text,
// and drops the lines of others that are not to be kept. It makes the Lease where there is none.
// Before it drops a line it reads which process holds the Lease, after the lines: so a line for
// a leader that this process has not heard of is kept, or the write conflicts with it.
func (e *Elector) Reply(ctx context.Context, replica, text string, keep func(text, holder string) bool) error {
	for try := 1; ; try++ {
		lease, _, err := e.replies.look(ctx)
		if err != nil {
			return err
		}
		write := e.replies.update
		if lease == nil {
			write, lease = e.replies.create, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: e.replies.namespace, Name: e.replies.name}}
		}
		own, holder := replyKey(replica), ""
		kept := func(text string) bool { return keep(text, holder) }
		others := linesOf(lease)
		delete(others, own)
		if slices.ContainsFunc(slices.Collect(maps.Values(others)), func(line string) bool { return !kept(line) }) {
			seen, err := Look(ctx, e.client, e.namespace, e.name)
			if err != nil {
				return err
			}
			holder = seen.Holder
		}
		if !setReply(lease, own, text, kept) {
			return nil
		}
		if _, err = write(ctx, lease); !raced(err) || try == mostRaces {
			return err
		}
	}
}

// setReply changes the lines of a Lease, and reports whether they are others now.
func setReply(lease *coordinationv1.Lease, own, text string, keep func(text string) bool) bool {
	before, after, size := linesOf(lease), map[string]string{}, 0
	if text != "" && len(text) <= mostReply {
		after[own], size = text, len(text)
	}
	for _, key := range slices.Sorted(maps.Keys(before)) {
		line := before[key]
		if key != own && keep(line) && len(after) < mostReplies && size+len(line) <= allReplies {
			after[key], size = line, size+len(line)
		}
	}
	stored := len(lease.Annotations)
	maps.DeleteFunc(lease.Annotations, func(name, _ string) bool { return strings.HasPrefix(name, replyPrefix) })
	for key, line := range after {
		metav1.SetMetaDataAnnotation(&lease.ObjectMeta, replyPrefix+key, line)
	}
	return len(lease.Annotations) != stored || !maps.Equal(before, after)
}

// linesOf are the lines of a Lease that are not too long, by the replicas' keys.
func linesOf(lease *coordinationv1.Lease) map[string]string {
	lines := map[string]string{}
	if lease == nil {
		return lines
	}
	for name, line := range lease.Annotations {
		if key, ok := strings.CutPrefix(name, replyPrefix); ok && len(line) <= mostReply {
			lines[key] = line
		}
	}
	return lines
}

// replyKey is the name of a replica where an annotation may have it, else a hash of it.
func replyKey(replica string) string {
	if len(validation.IsQualifiedName(replyPrefix+replica)) == 0 {
		return replica
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(replica)))[:32]
}

// Replicas is what the Leases say of the replicas.
type Replicas struct {
	// Holder is the identity of the process that leads, empty for none, Node where it runs,
	// empty where that is not known, and Renewed when it renewed the Lease, by its clock.
	Holder, Node string
	Renewed      time.Time
	// Lines are those of all replicas.
	Lines map[string]string
}

// Look reads both Leases once.
func Look(ctx context.Context, client *kube.Client, namespace, name string) (Replicas, error) {
	held, _, err := leases{client, namespace, name}.look(ctx)
	if held == nil {
		return Replicas{}, err
	}
	r := recordOf(held)
	replies, _, err := leases{client, namespace, name + RepliesSuffix}.look(ctx)
	return Replicas{r.holder, annotated(held, nodeAnnotation, r.holder), time.UnixMicro(r.renewed), linesOf(replies)}, err
}

// ReadReplies reads the lines of all replicas once.
func (e *Elector) ReadReplies(ctx context.Context) (map[string]string, error) {
	lease, _, err := e.replies.look(ctx)
	return linesOf(lease), err
}

// Replies calls each with the lines of all replicas, and again at each change, until ctx
// ends. It tries again where it cannot read them, and returns why it could not at last.
func (e *Elector) Replies(ctx context.Context, each func(lines map[string]string)) error {
	var failed error
	f := &follower{leases: e.replies, each: each}
	for ctx.Err() == nil {
		if err := f.follow(ctx); err == nil || ctx.Err() == nil {
			failed = err
		}
		kube.Wait(ctx, e.backoff(f.failures))
		f.failures++
	}
	return failed
}

// follower follows the replies.
type follower struct {
	leases

	each func(lines map[string]string)
	// last are the lines of the last call; nil before the first.
	last map[string]string
	// failures counts rounds without an event, in a row.
	failures int
}

// follow reads the replies and watches them for longestLook.
func (f *follower) follow(ctx context.Context) error {
	lease, revision, err := f.look(ctx)
	if err != nil {
		return err
	}
	f.tell(lease)
	events, err := f.watch(ctx, revision, ptr.To(longestLook))
	if err != nil {
		return err
	}
	defer events.Stop()
	for event := range events.ResultChan() {
		lease, ok := event.Object.(*coordinationv1.Lease)
		if !ok {
			break
		}
		if f.failures = 0; event.Type == watch.Deleted {
			lease = nil
		}
		f.tell(lease)
	}
	return nil
}

// tell calls each, unless the lines are as before.
func (f *follower) tell(lease *coordinationv1.Lease) {
	if lines := linesOf(lease); f.last == nil || !maps.Equal(lines, f.last) {
		f.last = maps.Clone(lines)
		f.each(lines)
	}
}
