// The client of OpenAPI Generator for Go.
package main

import (
	"context"
	"fmt"
	"os"

	openapi "judge/openapi"
)

func require(isTrue bool, values ...any) {
	if !isTrue {
		panic(fmt.Sprint(values...))
	}
}

func main() {
	configuration := openapi.NewConfiguration()
	configuration.Servers = openapi.ServerConfigurations{{URL: os.Getenv("URL")}}
	key := openapi.APIKey{Key: os.Getenv("KEY")}
	ctx := context.WithValue(context.Background(), openapi.ContextAPIKeys, map[string]openapi.APIKey{"ApiKey": key})
	api := openapi.NewAPIClient(configuration).WidgetsAPI
	emails, created := []string{}, []int64{}
	for n := range 3 {
		email := fmt.Sprintf("go%d@example.com", n)
		body := openapi.NewWidgetCreateWithDefaults()
		body.SetCaption("Ada")
		body.SetEmail(email)
		row, _, err := api.CreateWidget(ctx).WidgetCreate(*body).Execute()
		require(err == nil, err)
		emails, created = append(emails, email), append(created, row.Id)
	}
	ids, cursor := []int64{}, ""
	for {
		request := api.ListWidgets(ctx).Limit(2).EmailIn(emails)
		if cursor != "" {
			request = request.Cursor(cursor)
		}
		page, _, err := request.Execute()
		require(err == nil, err)
		for _, row := range page.Data {
			ids = append(ids, row.Id)
		}
		if cursor = page.GetNextCursor(); cursor == "" {
			break
		}
	}
	require(fmt.Sprint(ids) == fmt.Sprint(created), ids)
	patch := openapi.NewWidgetPatch()
	patch.SetCaption("Grace")
	row, _, err := api.UpdateWidget(ctx, ids[0]).WidgetPatch(*patch).Execute()
	require(err == nil && row.Caption == "Grace", err)
	_, err = api.DeleteWidget(ctx, ids[0]).Execute()
	require(err == nil, err)
	_, _, err = api.GetWidget(ctx, ids[0]).Execute()
	failure, isKnown := err.(*openapi.GenericOpenAPIError)
	require(isKnown, err)
	body, isBody := failure.Model().(openapi.ErrorBody)
	require(isBody && body.Error == "not_found", failure.Error())
	fmt.Println("ok")
}
