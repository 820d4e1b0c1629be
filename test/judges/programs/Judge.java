/** The client of OpenAPI Generator for Java. */
import java.util.ArrayList;
import java.util.List;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.WidgetsApi;
import org.openapitools.client.model.Widget;
import org.openapitools.client.model.WidgetCreate;
import org.openapitools.client.model.WidgetList;
import org.openapitools.client.model.WidgetPatch;

public class Judge {
  static void require(boolean isTrue, Object value) {
    if (!isTrue) throw new IllegalStateException(String.valueOf(value));
  }

  public static void main(String[] arguments) throws ApiException {
    ApiClient client = new ApiClient().setBasePath(System.getenv("URL"));
    client.setApiKey(System.getenv("KEY"));
    WidgetsApi api = new WidgetsApi(client);
    List<String> emails = List.of("java0@example.com", "java1@example.com", "java2@example.com");
    List<Long> created = new ArrayList<>();
    for (String email : emails) {
      WidgetCreate body = new WidgetCreate().captionCamel("Ada").email(email);
      created.add(api.createWidget(body).execute().getId());
    }
    List<Long> ids = new ArrayList<>();
    String cursor = null;
    do {
      WidgetList page = api.listWidgets().limit(2L).emailIn(emails).cursor(cursor).execute();
      page.getData().forEach(row -> ids.add(row.getId()));
      cursor = page.getNextCursor();
    } while (cursor != null);
    require(ids.equals(created), ids);
    Long id = ids.get(0);
    Widget row = api.updateWidget(id, new WidgetPatch().captionCamel("Grace")).execute();
    require(row.getCaption().equals("Grace"), row);
    api.deleteWidget(id).execute();
    try {
      api.getWidget(id).execute();
      throw new IllegalStateException("a deleted row was read");
    } catch (ApiException error) {
      require(error.getCode() == 404 && error.getResponseBody().contains("not_found"), error);
    }
    System.out.println("ok");
  }
}
