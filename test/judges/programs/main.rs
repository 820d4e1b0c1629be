//! The client of OpenAPI Generator for Rust.
use openapi::apis::{configuration, widgets_api as api, Error};
use openapi::models;

fn list(emails: &[String], cursor: Option<String>) -> api::ListWidgetsParams {
    api::ListWidgetsParams { limit: Some(2), email_in: Some(emails.to_vec()), cursor, ..Default::default() }
}

#[tokio::main]
async fn main() {
    let mut settings = configuration::Configuration::new();
    settings.base_path = std::env::var("URL").unwrap();
    let key = std::env::var("KEY").unwrap();
    settings.api_key = Some(configuration::ApiKey { prefix: None, key });
    let emails: Vec<String> = (0..3).map(|n| format!("rust{n}@example.com")).collect();
    let mut created = vec![];
    for email in &emails {
        let widget_create = models::WidgetCreate::new("Ada".into(), email.clone());
        let params = api::CreateWidgetParams { widget_create, idempotency_key: None, prefer: None };
        created.push(api::create_widget(&settings, params).await.unwrap().id);
    }
    let (mut ids, mut cursor) = (vec![], None);
    loop {
        let page = api::list_widgets(&settings, list(&emails, cursor)).await.unwrap();
        ids.extend(page.data.iter().map(|row| row.id));
        cursor = page.next_cursor.flatten();
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(ids, created);
    let mut widget_patch = models::WidgetPatch::new();
    widget_patch.caption = Some("Grace".into());
    let id = ids[0];
    let params = api::UpdateWidgetParams { id, widget_patch, if_match: None, idempotency_key: None, prefer: None };
    assert_eq!(api::update_widget(&settings, params).await.unwrap().caption, "Grace");
    api::delete_widget(&settings, api::DeleteWidgetParams { id, if_match: None, prefer: None }).await.unwrap();
    let params = api::GetWidgetParams { id, if_none_match: None, gatehook_read_after: None };
    match api::get_widget(&settings, params).await {
        Err(Error::ResponseError(reply)) => assert_eq!(reply.status.as_u16(), 404),
        other => panic!("{other:?}"),
    }
    println!("ok");
}
