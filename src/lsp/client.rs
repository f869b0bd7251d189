//! Who is at the other end: what it can do, what it has open, and how it wants things.

use std::path::PathBuf;

use gen_lsp_types::{
    CodeActionKind, CodeActionOptions, CodeActionProvider, CodeLensOptions, DiagnosticOptions,
    DiagnosticProvider, ExecuteCommandOptions, HoverProvider, InitializeParams, InitializeResult,
    MarkupKind, PositionEncodingKind, Save, SaveOptions, ServerCapabilities, ServerInfo,
    TextDocumentSync, TextDocumentSyncKind, TextDocumentSyncOptions, WorkspaceFolder,
    WorkspaceFolders, WorkspaceFoldersServerCapabilities, WorkspaceOptions,
};
use serde::Deserialize;
use serde_json::Value;

use crate::config::Config;
use crate::diagnostic::Confidence;
use crate::source::Encoding;

use super::{actions, uri};

/// What is known of the client.
#[derive(Debug)]
pub struct Client {
    /// The units of its columns.
    pub encoding: Encoding,
    /// Whether it asks for diagnostics; else they are sent to it.
    pub pulls: bool,
    /// Whether it can be asked to watch files.
    pub watches: bool,
    /// Whether it can be asked for its settings.
    pub configures: bool,
    /// Whether it can be told to ask for diagnostics again.
    pub refreshes: bool,
    /// Whether it can be asked to tell when its settings change.
    pub tells_settings: bool,
    /// Whether it can be told to ask for lenses again.
    pub refreshes_lenses: bool,
    /// Whether it shows where more is told of a rule.
    pub links: bool,
    /// Whether it can be asked to show a document.
    pub shows: bool,
    /// Whether it shows how far work is that it has not asked for.
    pub shows_progress: bool,
    /// Whether it shows Markdown where somebody points at something.
    pub markdown: bool,
    /// The directories that it has open.
    pub folders: Vec<PathBuf>,
    /// How it wants things.
    pub settings: Settings,
}

/// The settings of an editor, under the name `straggler`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Settings {
    select: Vec<String>,
    ignore: Vec<String>,
    min_confidence: Option<MinConfidence>,
    /// The Go installation whose standard library is read.
    pub goroot: Option<PathBuf>,
    /// Whether `go` statements and channels are told of above their lines.
    pub code_lens: bool,
    /// Whether files are told of that are not open, which is the default. It is asked for once, when
    /// the client starts the server.
    workspace_diagnostics: Option<bool>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
enum MinConfidence {
    Low,
    Medium,
    High,
}

impl Settings {
    /// Reads what an editor sends, which may stand under `straggler` or `settings`. An error says
    /// what is wrong.
    pub fn parse(value: &Value) -> Result<Settings, String> {
        let mut value = value;
        while let Some(inner) = value.get("straggler").or_else(|| value.get("settings")) {
            value = inner;
        }
        match value {
            Value::Null => Ok(Settings::default()),
            value => Settings::deserialize(value).map_err(|error| error.to_string()),
        }
    }

    /// Whether a rule is selected by its own name.
    pub fn names(&self, rule: &str) -> bool {
        self.select.iter().any(|name| name == rule)
    }

    /// What of it speaks of rules.
    pub fn config(&self) -> Config {
        // An editor that has no setting sends an empty list.
        let set = |names: &Vec<String>| (!names.is_empty()).then(|| names.clone());
        Config {
            select: set(&self.select),
            ignore: set(&self.ignore),
            min_confidence: self.min_confidence.map(|least| match least {
                MinConfidence::Low => Confidence::Low,
                MinConfidence::Medium => Confidence::Medium,
                MinConfidence::High => Confidence::High,
            }),
            ..Config::default()
        }
    }
}

impl Client {
    /// What a client says of itself; its settings may be wrong, and are then the default ones.
    pub fn new(params: &InitializeParams) -> (Client, Result<(), String>) {
        let capabilities = &params.capabilities;
        let offered = capabilities.general.as_ref().and_then(|it| it.position_encodings.as_ref());
        let utf8 = offered.is_some_and(|all| all.contains(&PositionEncodingKind::UTF8));
        let workspace = capabilities.workspace.as_ref();
        let watched = workspace.and_then(|it| it.did_change_watched_files.as_ref());
        let text_document = capabilities.text_document.as_ref();
        let refreshing = workspace.and_then(|it| it.diagnostics.as_ref());
        let window = capabilities.window.as_ref();
        let pushed = text_document.and_then(|it| it.publish_diagnostics.as_ref());
        let pulled = text_document.and_then(|it| it.diagnostic.as_ref());
        let described = [
            pushed.and_then(|it| it.diagnostics_capabilities.code_description_support),
            pulled.and_then(|it| it.diagnostics_capabilities.code_description_support),
        ];
        let told = workspace.and_then(|it| it.did_change_configuration.as_ref());
        let lenses = workspace.and_then(|it| it.code_lens.as_ref());
        let shown = window.and_then(|it| it.show_document.as_ref());
        let hover = text_document.and_then(|it| it.hover.as_ref());
        let formats = hover.and_then(|it| it.content_format.as_ref());
        let options = params.initialization_options.as_ref().unwrap_or(&Value::Null);
        let (settings, fault) = match Settings::parse(options) {
            Ok(settings) => (settings, Ok(())),
            Err(message) => (Settings::default(), Err(message)),
        };
        let client = Client {
            encoding: if utf8 { Encoding::Utf8 } else { Encoding::Utf16 },
            pulls: pulled.is_some(),
            watches: watched.is_some_and(|it| it.dynamic_registration == Some(true)),
            configures: workspace.is_some_and(|it| it.configuration == Some(true)),
            refreshes: refreshing.is_some_and(|it| it.refresh_support == Some(true)),
            tells_settings: told.is_some_and(|it| it.dynamic_registration == Some(true)),
            refreshes_lenses: lenses.is_some_and(|it| it.refresh_support == Some(true)),
            links: described.contains(&Some(true)),
            shows: shown.is_some_and(|it| it.support),
            shows_progress: window.is_some_and(|it| it.work_done_progress == Some(true)),
            markdown: formats.is_some_and(|all| all.contains(&MarkupKind::Markdown)),
            folders: folders(params),
            settings,
        };
        (client, fault)
    }

    /// What the server can do for it.
    pub fn answer(&self) -> InitializeResult {
        let encoding = match self.encoding {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
        };
        let sync = TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::Incremental),
            save: Some(Save::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        };
        let pulled = DiagnosticOptions {
            identifier: Some("straggler".to_owned()),
            inter_file_dependencies: true,
            workspace_diagnostics: self.settings.workspace_diagnostics != Some(false),
            ..DiagnosticOptions::default()
        };
        let actions = CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QuickFix, actions::FIX_ALL]),
            ..CodeActionOptions::default()
        };
        let folders = WorkspaceFoldersServerCapabilities {
            supported: Some(true),
            change_notifications: Some(true.into()),
        };
        InitializeResult {
            capabilities: ServerCapabilities {
                position_encoding: Some(encoding),
                text_document_sync: Some(TextDocumentSync::Options(sync)),
                code_action_provider: Some(CodeActionProvider::CodeActionOptions(actions)),
                code_lens_provider: Some(CodeLensOptions::default()),
                execute_command_provider: Some(ExecuteCommandOptions {
                    commands: vec![actions::SHOW.to_owned()],
                    ..ExecuteCommandOptions::default()
                }),
                hover_provider: Some(HoverProvider::Bool(true)),
                diagnostic_provider: self
                    .pulls
                    .then_some(DiagnosticProvider::DiagnosticOptions(pulled)),
                workspace: Some(WorkspaceOptions {
                    workspace_folders: Some(folders),
                    ..WorkspaceOptions::default()
                }),
                ..ServerCapabilities::default()
            },
            server_info: Some(ServerInfo {
                name: "straggler".to_owned(),
                version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            }),
        }
    }

    /// The directories that it has open and that are in no other of them.
    pub fn outermost_folders(&self) -> Vec<PathBuf> {
        let is_inside = |folder: &PathBuf| {
            self.folders.iter().any(|other| folder != other && folder.starts_with(other))
        };
        let mut outermost: Vec<PathBuf> =
            self.folders.iter().filter(|folder| !is_inside(folder)).cloned().collect();
        outermost.sort();
        outermost.dedup();
        outermost
    }

    /// Opens and closes directories.
    pub fn change_folders(&mut self, added: &[WorkspaceFolder], removed: &[WorkspaceFolder]) {
        let removed: Vec<PathBuf> = paths(removed).collect();
        self.folders.retain(|folder| !removed.contains(folder));
        self.folders.extend(paths(added));
    }
}

fn paths(folders: &[WorkspaceFolder]) -> impl Iterator<Item = PathBuf> {
    folders.iter().filter_map(|folder| uri::to_path(&folder.uri.0))
}

/// Clients that know no workspace folders give one root.
#[expect(deprecated)]
fn folders(params: &InitializeParams) -> Vec<PathBuf> {
    match &params.workspace_folders_initialize_params.workspace_folders {
        Some(WorkspaceFolders::WorkspaceFolderList(folders)) => paths(folders).collect(),
        _ => params.root_uri.iter().filter_map(|root| uri::to_path(&root.0)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn settings_may_stand_under_their_name() {
        let inner = json!({ "select": ["stuck"], "minConfidence": "high", "unknown": 1 });
        for value in [inner.clone(), json!({ "straggler": inner }), json!({ "settings": inner })] {
            let config = Settings::parse(&value).expect("settings").config();
            assert_eq!(config.select.as_deref(), Some(&["stuck".to_owned()][..]));
            assert_eq!(config.min_confidence, Some(Confidence::High));
        }
        assert_eq!(Settings::parse(&Value::Null), Ok(Settings::default()));
        assert!(Settings::parse(&json!({ "select": 3 })).is_err());
    }
}
