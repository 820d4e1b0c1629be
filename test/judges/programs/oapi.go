// The client of oapi-codegen.
package main

import (
	"context"
	"fmt"
	"net/http"
	"os"

	"judge/api"

	"github.com/oapi-codegen/runtime/types"
)

func require(isTrue bool, values ...any) {
	if !isTrue {
		panic(fmt.Sprint(values...))
	}
}

func main() {
	ctx := context.Background()
	withKey := func(_ context.Context, request *http.Request) error {
		request.Header.Set("X-API-Key", os.Getenv("KEY"))
		return nil
	}
	client, err := api.NewClientWithResponses(os.Getenv("URL"), api.WithRequestEditorFn(withKey))
	require(err == nil, err)
	emails, created := []types.Email{}, []int64{}
	for n := range 3 {
		email := types.Email(fmt.Sprintf("oapi%d@example.com", n))
		row, err := client.CreateWidgetWithResponse(ctx, nil, api.WidgetCreate{Caption: "Ada", Email: email})
		require(err == nil && row.JSON201 != nil, err)
		emails, created = append(emails, email), append(created, *row.JSON201.Id)
	}
	limit, ids := int64(2), []int64{}
	params := &api.ListWidgetsParams{Limit: &limit, EmailIn: &emails}
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
