package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
)

// describe says where and with what is measured, in lines as go test -bench begins
// with. The load is that before the first section: the later ones find that of the
// earlier ones.
func describe(ctx context.Context, f form, load string) string {
	commit := "unknown"
	if out, err := exec.CommandContext(ctx, "git", "rev-parse", "--short", "HEAD").Output(); err == nil {
		commit = strings.TrimSpace(string(out))
	}
	name := "short"
	if f.long {
		name = "long"
	}
	return fmt.Sprintf("machine: %s\ncores: %d\ngo: %s\ncommit: %s\nform: %s\nload-before: %s\n",
		processor(), runtime.NumCPU(), runtime.Version(), commit, name, load)
}

func processor() string {
	info, _ := os.ReadFile("/proc/cpuinfo") // only Linux has it
	for line := range strings.Lines(string(info)) {
		if name, model, found := strings.Cut(line, ":"); found && strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return "unknown"
}

// load is the mean number of programs that wanted to run in the last minute.
func load() string {
	text, _ := os.ReadFile("/proc/loadavg") // only Linux has it
	if fields := strings.Fields(string(text)); len(fields) > 0 {
		return fields[0]
	}
	return "unknown"
}

// busy reports whether the machine had so much else to do that times mean little.
func (r results) busy() bool {
	load, err := strconv.ParseFloat(r.says["load-before"], 64)
	cores, _ := strconv.ParseFloat(r.says["cores"], 64) // 0 makes it busy
	return err != nil || load >= cores/2
}

// measuredOn is a line below the heading of a section.
func (r results) measuredOn() string {
	text := fmt.Sprintf("*%s, %s cores, %s, commit %s, %s form; load of the machine before the run: %s.",
		r.says["machine"], r.says["cores"], r.says["go"], r.says["commit"], r.says["form"], r.says["load-before"])
	if r.busy() {
		text += " The machine was not at rest: counts hold, times are to be taken again on a quiet one."
	}
	if r.says["incomplete"] != "" {
		text += " The run ended early: what is missing was not measured."
	}
	return text + "*\n\n"
}
