// The client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"judge/api"
)

func require(isTrue bool, values ...any) {
	if !isTrue {
		panic(fmt.Sprint(values...))
	}
}

// A text with a format has a type of its own.
func set[T ~string](target *T, text string) { *target = T(text) }

func listOf[T ~string](_ *[]T, texts []string) *[]T {
	list := make([]T, len(texts))
	for index, text := range texts {
		set(&list[index], text)
	}
	return &list
}

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", os.Getenv("KEY"))
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("URL"), api.WithRequestEditorFn(withKey))
	require(err == nil, err)
	emails, created := []string{}, []int64{}
	for n := range 3 {
		email, body := fmt.Sprintf("oapi%d@example.com", n), api.WidgetCreate{Caption: "Ada"}
		set(&body.Email, email)
		row, err := client.CreateWidgetWithResponse(ctx, nil, body)
		require(err == nil && row.JSON201 != nil, err)
		emails, created = append(emails, email), append(created, *row.JSON201.Id)
	}
	limit, ids := int64(2), []int64{}
	params := &api.ListWidgetsParams{Limit: &limit}
	params.EmailIn = listOf(params.EmailIn, emails)
	for {
		page, err := client.ListWidgetsWithResponse(ctx, params)
		require(err == nil && page.JSON200 != nil, err, page)
		for _, row := range page.JSON200.Data {
			ids = append(ids, *row.Id)
		}
		if params.Cursor = page.JSON200.NextCursor; params.Cursor == nil {
			break
		}
	}
	require(fmt.Sprint(ids) == fmt.Sprint(created), ids)
	name := "Grace"
	row, err := client.UpdateWidgetWithResponse(ctx, ids[0], nil, api.WidgetPatch{Caption: &name})
	require(err == nil && row.JSON200 != nil && row.JSON200.Caption == "Grace", err)
	deleted, err := client.DeleteWidgetWithResponse(ctx, ids[0], nil)
	require(err == nil && deleted.StatusCode() == 204, err)
	missing, err := client.GetWidgetWithResponse(ctx, ids[0], nil)
	require(err == nil && missing.JSON404 != nil && missing.JSON404.Error == "not_found", err)
	fmt.Println("ok")
}
