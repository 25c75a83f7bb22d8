package xds

import (
	"maps"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// rememberGone is how long a fleet is remembered that has no proxies and that nothing
// names, mostGone how many of these are, mostGoneBytes how much they may say.
const rememberGone, mostGone, mostGoneBytes = 10 * time.Minute, 100, 16 << 20

// forget ends what is remembered of fleets that are gone. One with proxies is not. Another
// fleet of the name of one that is gone, which begins with a mistake, has none of its listeners.
func (f *Fleets) forget(all map[string]envoyconfig.Traffic, now time.Time) {
	drop := func(name string) {
		delete(all, name)
		delete(f.gone, name)
	}
	for name := range all {
		_, inFile := f.file[name]
		o, inObject := f.objects[name]
		since, gone := f.gone[name]
		switch {
		case f.using[name] || inFile || inObject && o.Problem == nil:
			delete(f.gone, name)
		case gone && (inObject || now.Sub(since) >= rememberGone):
			drop(name)
		case !gone && !inObject:
			f.gone[name] = now
		}
	}
	kept := 0
	for name := range f.gone {
		kept += all[name].Size()
	}
	for len(f.gone) > mostGone || kept > mostGoneBytes {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(f.gone)), func(a, b string) int { return f.gone[a].Compare(f.gone[b]) })
		kept -= all[oldest].Size()
		drop(oldest)
	}
}

// use says whether a fleet has proxies.
func (f *Fleets) use(name string, proxies bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.using[name] = proxies; !proxies {
		delete(f.using, name)
	}
}
