package certificates

import (
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
	if by == nil {
		by = &pair{template, key}
	}
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
	var all []*x509.Certificate
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
}

// parseKeys reads keys. What is in them is in no error.
func parseKeys(text []byte) ([]*ecdsa.PrivateKey, error) {
	var all []*ecdsa.PrivateKey
	for {
		var block *pem.Block
		if block, text = pem.Decode(text); block == nil {
			return all, nil
		}
		parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		key, ours := parsed.(*ecdsa.PrivateKey)
		if err != nil || !ours {
			return nil, errors.New("a private key is no PKCS #8 of an elliptic curve")
		}
		all = append(all, key)
	}
}
