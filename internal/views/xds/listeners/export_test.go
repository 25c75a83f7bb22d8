package listeners

import "strings"

// Names is how many Envoys of a namespace are known by name.
func (s *Source) Names(namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := 0
	for _, one := range s.scopes {
		for name := range one.all {
			if strings.HasPrefix(name, namespace+"/") {
				names++
			}
		}
	}
	return names
}
