package system

import (
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"syscall"
	"time"
)

// child is a program that was started, and its process group.
type child struct {
	cmd *exec.Cmd
	// exited is closed when the program has exited and is not yet reaped,
	// killing when its group was killed, collected when the program is reaped and
	// err says how it ended, and cleared when nothing is left of its group.
	exited, killing, collected, cleared chan struct{}
	err                                 error
	killedAt                            time.Time
}

// watch follows a program that was started to the end of its group. The group is
// killed while its leader is not yet reaped: until then no other process can have
// its number.
func watch(cmd *exec.Cmd) *child {
	c := &child{
		cmd: cmd, exited: make(chan struct{}), killing: make(chan struct{}),
		collected: make(chan struct{}), cleared: make(chan struct{}),
	}
	go func() {
		defer close(c.cleared)
		awaitExit(c.group())
		close(c.exited)
		<-c.killing
		c.err = cmd.Wait()
		close(c.collected)
		reap(c.group())
		reapStrays()
		// What is left is no child of this process, so it cannot be waited for.
		for pause := 10 * time.Millisecond; len(unkillable(c.group())) > 0; pause = min(2*pause, time.Second) {
			<-time.After(pause)
		}
	}()
	return c
}

func (c *child) group() int { return c.cmd.Process.Pid }

// kill kills the group.
func (c *child) kill() {
	// The only error is that nothing is left to kill.
	_ = syscall.Kill(-c.group(), syscall.SIGKILL)
	c.killedAt = time.Now()
	close(c.killing)
}

// leave notes a child that does not end.
func (r *Runner) leave(c *child) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = append(r.left, c)
}

// refuse returns an error while a child that was killed is still there.
func (r *Runner) refuse() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.left = slices.DeleteFunc(r.left, func(c *child) bool {
		select {
		case <-c.cleared:
			return true
		default:
			return false
		}
	})
	if len(r.left) == 0 {
		return nil
	}
	c := r.left[0]
	return fmt.Errorf("not started: an earlier run was killed %s ago and does not end: %s; repair the disk or file server that it waits for, or restart the node",
		time.Since(c.killedAt).Round(time.Second), describe(c.group()))
}

// reap collects the orphans of the group. They are our children only where this
// process is the init of its container, or a subreaper.
func reap(group int) {
	for {
		_, err := syscall.Wait4(-group, nil, 0, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}
