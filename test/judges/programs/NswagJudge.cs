/** The client of NSwag for C#. */
using System;
using System.Collections.Generic;
using System.Linq;
using System.Net.Http;
using System.Threading.Tasks;
using Api;

static class Judge
{
    static void Require(bool isTrue, object value)
    {
        if (!isTrue) throw new InvalidOperationException(value.ToString());
    }

    static async Task Main()
    {
        var http = new HttpClient();
        http.DefaultRequestHeaders.Add("X-API-Key", Environment.GetEnvironmentVariable("KEY"));
        var api = new ApiClient(http) { BaseUrl = Environment.GetEnvironmentVariable("URL") };
        var emails = new[] { "ns0@example.com", "ns1@example.com", "ns2@example.com" };
        var created = new List<long>();
        foreach (var email in emails)
        {
            var body = new WidgetCreate { Caption_ = "Ada", Email = email };
            created.Add((await api.Create_widgetAsync(body: body)).Id);
        }
        var ids = new List<long>();
        string? cursor = null;
        do
        {
            var page = await api.List_widgetsAsync(limit: 2, cursor: cursor, emailin: emails);
            ids.AddRange(page.Data.Select(row => row.Id));
            cursor = page.Next_cursor;
        } while (cursor != null);
        Require(ids.SequenceEqual(created), string.Join(" ", ids));
        var patch = new WidgetPatch { Caption_ = "Grace" };
        var row = await api.Update_widgetAsync(id: ids[0], body: patch);
        Require(row.Caption_ == "Grace", row);
        await api.Delete_widgetAsync(id: ids[0]);
        try
        {
            await api.Get_widgetAsync(id: ids[0]);
            throw new InvalidOperationException("a deleted row was read");
        }
        catch (ApiException<ErrorBody> error)
        {
            Require(error.StatusCode == 404, error);
            Require(error.Result.Error == ErrorCode.Not_found, error);
        }
        Console.WriteLine("ok");
    }
}
