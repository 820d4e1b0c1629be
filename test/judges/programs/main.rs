//! The client of OpenAPI Generator for Rust.
use openapi::apis::widgets_api::{self as api, WidgetsApi};
use openapi::apis::{configuration, Error};
use openapi::models;

#[tokio::main]
async fn main() {
    let key = std::env::var("KEY").unwrap();
    let settings = configuration::Configuration {
        base_path: std::env::var("URL").unwrap(),
        api_key: Some(configuration::ApiKey { prefix: None, key }),
        ..Default::default()
    };
    let widgets = api::WidgetsApiClient::new(settings.into());
    let emails: Vec<String> = (0..3).map(|n| format!("rust{n}@example.com")).collect();
    let mut created = vec![];
    for email in emails.clone() {
        let body = models::WidgetCreate { caption: "Ada".into(), email, ..Default::default() };
        let params = api::CreateWidgetParams::builder().widget_create(body).build();
        created.push(widgets.create_widget(params).await.unwrap().id);
    }
    let (mut ids, mut cursor) = (vec![], None);
    loop {
        let params = api::ListWidgetsParams::builder()
            .limit(2)
            .email_left_square_bracket_in_right_square_bracket(emails.clone())
            .maybe_cursor(cursor)
            .build();
        let page = widgets.list_widgets(params).await.unwrap();
        ids.extend(page.data.iter().map(|row| row.id));
        cursor = page.next_cursor.flatten();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, created);
    let id = ids[0];
    let body = models::WidgetPatch { caption: Some("Grace".into()), ..Default::default() };
    let params = api::UpdateWidgetParams::builder().id(id).widget_patch(body).build();
    assert_eq!(widgets.update_widget(params).await.unwrap().caption, "Grace");
    widgets.delete_widget(api::DeleteWidgetParams::builder().id(id).build()).await.unwrap();
    match widgets.get_widget(api::GetWidgetParams::builder().id(id).build()).await {
        Err(Error::ResponseError(reply)) => {
            assert_eq!(reply.status.as_u16(), 404);
            let body: models::ErrorBody = serde_json::from_str(&reply.content).unwrap();
            assert_eq!(body.error, models::ErrorCode::NotFound);
        }
        other => panic!("{other:?}"),
    }
    println!("ok");
}
