package ionos

import (
	"errors"
	"fmt"
)

var (
	errNoProperties = errors.New("the answer has no properties")
	errMorePages    = errors.New("the answer says that there are further pages, which cannot be asked for")
	errTooManyPages = fmt.Errorf("the list does not end after %d pages", maxPages)
)

// pages reads a list to its end: while an answer names a next page or, where it
// has no links at all, while it is full. It returns everything once, and how many
// requests that took; if one page fails there is no page at all.
func pages[T element](about subject, get func(offset, limit int32) ([]byte, error)) ([]T, int, error) {
	all, seen := []T{}, map[string]bool{}
	offset := 0
	for page := 1; page <= maxPages; page++ {
		payload, err := get(int32(offset), pageSize)
		if err != nil {
			return nil, page, err
		}
		found, err := decodePage[T](payload)
		if err != nil {
			return nil, page, fmt.Errorf("%s: %w", about.name, err)
		}
		before := len(all)
		for _, item := range *found.Items {
			if !seen[item.key()] {
				seen[item.key()] = true
				all = append(all, item)
			}
		}
		switch {
		case !found.more():
			return all, page, nil
		case len(all) == before:
			return nil, page, fmt.Errorf("%s: %w", about.name, errNoProgress)
		}
		offset += len(*found.Items)
	}
	return nil, maxPages, fmt.Errorf("%s: %w", about.name, errTooManyPages)
}

// more reports whether there is a further page.
func (c collection[T]) more() bool {
	if c.Links != nil {
		return c.Links.Next != nil && *c.Links.Next != ""
	}
	full := pageSize
	if c.Limit != nil && *c.Limit >= 1 && *c.Limit < pageSize {
		full = int(*c.Limit)
	}
	return len(*c.Items) >= full
}

// whole reads a list that has no pages.
func whole[T element](about subject, get func() ([]byte, error)) ([]T, error) {
	payload, err := get()
	if err != nil {
		return nil, err
	}
	found, err := decodePage[T](payload)
	if err == nil && found.Links != nil && found.Links.Next != nil && *found.Links.Next != "" {
		err = errMorePages
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", about.name, err)
	}
	return *found.Items, nil
}
