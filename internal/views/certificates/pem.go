package certificates

import (
	"cmp"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
)

const (
	certificateBlock = "CERTIFICATE"
	keyBlock         = "PRIVATE KEY"
)

// sign makes a key, and a certificate for it; without a signer it signs itself.
func sign(template *x509.Certificate, by *pair) (pair, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return pair{}, err
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127)); err != nil {
		return pair{}, err
	}
	by = cmp.Or(by, &pair{template, key})
	raw, err := x509.CreateCertificate(rand.Reader, template, by.certificate, &key.PublicKey, by.key)
	if err != nil {
		return pair{}, fmt.Errorf("sign a certificate: %w", err)
	}
	certificate, err := x509.ParseCertificate(raw)
	return pair{certificate, key}, err
}

func encodeCertificate(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: raw})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("write a private key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: keyBlock, Bytes: raw}), nil
}

func parseCertificates(text []byte) ([]*x509.Certificate, error) {
	return parseBlocks(text, x509.ParseCertificate)
}

// parseKeys reads keys. What is in them is in no error.
func parseKeys(text []byte) ([]*ecdsa.PrivateKey, error) {
	return parseBlocks(text, func(raw []byte) (*ecdsa.PrivateKey, error) {
		parsed, err := x509.ParsePKCS8PrivateKey(raw)
		key, ours := parsed.(*ecdsa.PrivateKey)
		if err != nil || !ours {
			return nil, errors.New("a private key is no PKCS #8 of an elliptic curve")
		}
		return key, nil
	})
}

func parseBlocks[T any](text []byte, parse func([]byte) (T, error)) ([]T, error) {
	var all []T
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		one, err := parse(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}
