// An application with pgx: a transaction adds an invoice and emits its event.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const emitSQL = "SELECT gatehook.gatehook_emit('invoice.paid', $1, 'default', key => $2)"

var errRolledBack = errors.New("rolled back")

type invoice struct {
	ID string `json:"id"`
}

func pay(ctx context.Context, pool *pgxpool.Pool, id string, n int) error {
	var key *string
	if n%2 == 0 {
		key = &id
	}
	return pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error {
		emit := func() error {
			_, err := tx.Exec(ctx, emitSQL, invoice{id}, key)
			return err
		}
		if n%3 == 0 {
			if err := emit(); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, "INSERT INTO app.invoices VALUES ($1)", id); err != nil {
			return err
		}
		if n%3 != 0 {
			if err := emit(); err != nil {
				return err
			}
		}
		if n%8 == 7 {
			return errRolledBack
		}
		return nil
	})
}

func main() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Args[1])
	if err != nil {
		panic(err)
	}
	for n := 1; ; n++ {
		id := fmt.Sprintf("%s-%d", os.Args[2], n)
		err := pay(ctx, pool, id, n)
		if err == nil {
			fmt.Println(id)
		}
		if err != nil && !errors.Is(err, errRolledBack) { // the commit of a broken connection is unknown
			time.Sleep(40 * time.Millisecond)
		}
		time.Sleep(40 * time.Millisecond)
	}
}
