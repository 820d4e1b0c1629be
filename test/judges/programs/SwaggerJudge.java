/** The client of Swagger Codegen for Java, which has a parameter for each filter of a list. */
import io.swagger.client.ApiClient;
import io.swagger.client.ApiException;
import io.swagger.client.api.WidgetsApi;
import io.swagger.client.model.Widget;
import io.swagger.client.model.WidgetCreate;
import io.swagger.client.model.WidgetList;
import io.swagger.client.model.WidgetPatch;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

public class SwaggerJudge {
  static void require(boolean isTrue, Object value) {
    if (!isTrue) throw new IllegalStateException(String.valueOf(value));
  }

  /** The parameters begin with the style, the limit and the cursor; the others are null. */
  static WidgetList list(WidgetsApi api, String cursor) throws ReflectiveOperationException {
    for (Method method : WidgetsApi.class.getMethods()) {
      if (!method.getName().equals("listWidgets")) continue;
      Object[] arguments = new Object[method.getParameterTypes().length];
      arguments[1] = 2L;
      arguments[2] = cursor;
      return (WidgetList) method.invoke(api, arguments);
    }
    throw new IllegalStateException("there is no list");
  }

  public static void main(String[] words) throws ApiException, ReflectiveOperationException {
    ApiClient client = new ApiClient().setBasePath(System.getenv("URL"));
    client.setApiKey(System.getenv("KEY"));
    WidgetsApi api = new WidgetsApi(client);
    List<Long> created = new ArrayList<>();
    for (int n = 0; n < 3; n++) {
      String email = "swagger" + n + "@example.com";
      WidgetCreate body = new WidgetCreate().captionCamel("Ada").email(email);
      created.add(api.createWidget(body, null, null).getId());
    }
    List<Long> ids = new ArrayList<>();
    String cursor = null;
    do {
      WidgetList page = list(api, cursor);
      for (Widget row : page.getData()) if (created.contains(row.getId())) ids.add(row.getId());
      cursor = page.getNextCursor();
    } while (cursor != null);
    require(ids.equals(created), ids);
    Long id = ids.get(0);
    WidgetPatch change = new WidgetPatch().captionCamel("Grace");
    require(api.updateWidget(change, id, null, null, null).getCaption().equals("Grace"), id);
    api.deleteWidget(id, null, null);
    try {
      api.getWidget(id, null);
      throw new IllegalStateException("a deleted row was read");
    } catch (ApiException error) {
      require(error.getCode() == 404 && error.getResponseBody().contains("not_found"), error);
    }
    System.out.println("ok");
  }
}
