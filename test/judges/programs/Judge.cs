/** The client of OpenAPI Generator for C#, library httpclient. */
using System;
using System.Collections.Generic;
using System.Linq;
using Org.OpenAPITools.Api;
using Org.OpenAPITools.Client;
using Org.OpenAPITools.Model;

static class Judge
{
    static void Require(bool isTrue, object value)
    {
        if (!isTrue) throw new InvalidOperationException(value.ToString());
    }

    static void Main()
    {
        var url = Environment.GetEnvironmentVariable("URL")!;
        var configuration = new Configuration { BasePath = url };
        configuration.AddApiKey("X-API-Key", Environment.GetEnvironmentVariable("KEY")!);
        var api = new WidgetsApi(configuration);
        var emails = new List<string> { "cs0@example.com", "cs1@example.com", "cs2@example.com" };
        var bodies = emails.Select(email => new WidgetCreate(captionCamel: "Ada", email: email));
        var created = bodies.Select(body => api.CreateWidget(body).Id).ToList();
        var ids = new List<long>();
        string? cursor = null;
        do
        {
            var page = api.ListWidgets(limit: 2, emailIn: emails, cursor: cursor);
            ids.AddRange(page.Data.Select(row => row.Id));
            cursor = page.NextCursor;
        } while (cursor != null);
        Require(ids.SequenceEqual(created), string.Join(" ", ids));
        var row = api.UpdateWidget(ids[0], new WidgetPatch(captionCamel: "Grace"));
        Require(row.Caption == "Grace", row);
        api.DeleteWidget(ids[0]);
        try
        {
            api.GetWidget(ids[0]);
            throw new InvalidOperationException("a deleted row was read");
        }
        catch (ApiException error)
        {
            Require(error.ErrorCode == 404 && $"{error.ErrorContent}".Contains("not_found"), error);
        }
        Console.WriteLine("ok");
    }
}
