//! `straggler chain` as people run it: the chains of a server, outermost filter first.

use crate::cli::{module, seen, straggler};

/// Filters of every kind, and the four ways to put them together.
const SERVER: &str = r#"package m

import (
	"context"
	"log"
	"net/http"
	"time"
)

type filter = func(http.Handler) http.Handler

func build(api http.Handler, traced bool) http.Handler {
	h := inner(api)
	h = withTimeout(h)
	if traced {
		h = withTrace("x")(h)
	}
	h = withRecorder(h)
	return withLog(h)
}

func inner(h http.Handler) http.Handler {
	h = withCache(h)
	h = withLogin(h)
	return h
}

func nested(api http.Handler) http.Handler {
	return withLog(http.TimeoutHandler(api, time.Second, "late"))
}

func chain(h http.Handler, filters ...filter) http.Handler {
	for i := len(filters) - 1; i >= 0; i-- {
		h = filters[i](h)
	}
	return h
}

func listed(api http.Handler) http.Handler {
	return chain(api, withLog, withTrace("x"))
}

func looped(api http.Handler) http.Handler {
	filters := []filter{withCache}
	filters = append(filters, withLog)
	for _, f := range filters {
		api = f(api)
	}
	return api
}

func withTimeout(next http.Handler) http.Handler { return &timeout{next} }

type timeout struct{ next http.Handler }

func (t *timeout) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	done := make(chan struct{})
	own := r.Clone(r.Context())
	go func() {
		defer close(done)
		t.next.ServeHTTP(&wrapped{}, own)
	}()
	select {
	case <-done:
	case <-r.Context().Done():
	}
}

type wrapped struct{ http.ResponseWriter }

func withTrace(name string) filter {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			next.ServeHTTP(&wrapped{w}, r.WithContext(context.WithValue(r.Context(), name, name)))
		})
	}
}

type recorder struct{ w http.ResponseWriter }

func (r *recorder) add() { r.w.Header().Add("Warning", "x") }

func withRecorder(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx := context.WithValue(r.Context(), "recorder", &recorder{w: w})
		next.ServeHTTP(w, r.WithContext(ctx))
	})
}

func withLog(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { recover() }()
		next.ServeHTTP(w, r)
		log.Print(r.UserAgent())
	})
}

func withCache(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

func withLogin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Authorization")
		next.ServeHTTP(w, r)
	})
}

func withBoth(next http.Handler) http.Handler {
	next = withLogin(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r)
	})
}
"#;

#[track_caller]
fn check(files: &[(&str, &str)], args: &[&str], expected: &str) {
    let module = module(files);
    let output = straggler(module.path()).arg("chain").args(args).output().expect("straggler runs");
    assert_eq!(seen(&output), expected, "straggler chain {args:?}");
}

#[test]
fn chains_are_shown_outermost_first_with_what_each_filter_does() {
    check(
        &[("server.go", SERVER)],
        &[],
        concat!(
            "exit 0\n",
            "build (server.go:12), around `api`\n",
            "    filter        line  request  writer  what it does\n",
            " 1  withLog       19    same     same    reads request headers after next: `r.UserAgent()` (server.go:94)\n",
            "                                         recovers panics\n",
            " 2  withRecorder  18    derived  same    keeps its writer in the context (server.go:85)\n",
            " 3  withTrace ?   16    derived  own\n",
            " 4  withTimeout   14    own      own     hands off, with a request of its own and a writer of its own (server.go:59)\n",
            " 5  withLogin     24    same     same    changes request headers (server.go:107)\n",
            " 6  withCache     23    same     same    touches the response before next (server.go:100)\n",
            "\n",
            "inner (server.go:22), around `h`\n",
            "    filter     line  request  writer  what it does\n",
            " 1  withLogin  24    same     same    changes request headers (server.go:107)\n",
            " 2  withCache  23    same     same    touches the response before next (server.go:100)\n",
            "\n",
            "nested (server.go:28), around `api`\n",
            "    filter          line  request  writer  what it does\n",
            " 1  withLog         29    same     same    reads request headers after next: `r.UserAgent()` (server.go:94)\n",
            "                                           recovers panics\n",
            " 2  TimeoutHandler  29    same     own     hands off, with a request with the same header map and a writer of its own\n",
            "\n",
            "listed (server.go:39), around `api`\n",
            "    filter     line  request  writer  what it does\n",
            " 1  withLog    40    same     same    reads request headers after next: `r.UserAgent()` (server.go:94)\n",
            "                                      recovers panics\n",
            " 2  withTrace  40    derived  own\n",
            "\n",
            "looped (server.go:43), around `api`\n",
            "    filter     line  request  writer  what it does\n",
            " 1  withLog    45    same     same    reads request headers after next: `r.UserAgent()` (server.go:94)\n",
            "                                      recovers panics\n",
            " 2  withCache  44    same     same    touches the response before next (server.go:100)\n",
            "\n",
            "withBoth (server.go:112), around `next`\n",
            "    filter     line  request  writer  what it does\n",
            " 1  func       114   same     same\n",
            " 2  withLogin  113   same     same    changes request headers (server.go:107)\n",
        ),
    );
}

#[test]
fn a_program_without_chains_says_so_and_tests_are_left_out() {
    let test = SERVER.replace("package m", "package m_test");
    check(
        &[("m.go", "package m\n"), ("server_test.go", &test)],
        &[],
        "exit 0\nNo chain of filters was found.\n",
    );
    check(
        &[("m.go", "package m\n")],
        &["nowhere"],
        "exit 2\nNo chain of filters was found.\n! error: nowhere: no such file or directory\n",
    );
}

#[test]
fn json_holds_the_same() {
    let module = module(&[("server.go", SERVER)]);
    let output = straggler(module.path())
        .args(["chain", "--format", "json"])
        .output()
        .expect("straggler runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let chains = json["chains"].as_array().expect("chains");
    let build = chains.iter().find(|chain| chain["function"] == "build").expect("build");
    let told: Vec<String> = build["filters"]
        .as_array()
        .expect("filters")
        .iter()
        .map(|filter| {
            let facts = filter["facts"].as_array().expect("facts").iter();
            let facts: Vec<&str> = facts.filter_map(|fact| fact["id"].as_str()).collect();
            format!("{}:{} {}", filter["name"], filter["line"], facts.join(" "))
        })
        .collect();
    assert_eq!(
        told,
        [
            "\"withLog\":19 reads-header-after recovers",
            "\"withRecorder\":18 stashes-writer",
            "\"withTrace\":16 ",
            "\"withTimeout\":14 hands-off",
            "\"withLogin\":24 changes-request-header",
            "\"withCache\":23 response-before",
        ]
    );
    assert_eq!(build["filters"][2]["conditional"], true);
    assert_eq!(build["filters"][3]["request"], "own");
}

/// Filters for the servers below.
const FILTERS: &str = r#"package m

import "net/http"

func withLog(next http.Handler) http.Handler   { return filter{next} }
func withCache(next http.Handler) http.Handler { return filter{next} }
func withLogin(next http.Handler) http.Handler { return filter{next} }
func withTrace(next http.Handler) http.Handler { return filter{next} }

type filter struct{ next http.Handler }

func (f filter) ServeHTTP(w http.ResponseWriter, r *http.Request) { f.next.ServeHTTP(w, r) }
"#;

/// The chains of a server, a line each: the function, the router, and the filters, outermost first.
#[track_caller]
fn check_routers(server: &str, expected: &[&str]) {
    let module = module(&[("server.go", server), ("filters.go", FILTERS)]);
    let output = straggler(module.path())
        .args(["chain", "--format", "json"])
        .output()
        .expect("straggler runs");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let chains = json["chains"].as_array().expect("chains").iter().map(|chain| {
        let filters = chain["filters"].as_array().expect("filters").iter();
        let names: Vec<&str> = filters.filter_map(|filter| filter["name"].as_str()).collect();
        let text = |key: &str| chain[key].as_str().unwrap_or("-").to_owned();
        format!("{} {}: {}", text("function"), text("handler"), names.join(" "))
    });
    assert_eq!(chains.collect::<Vec<_>>(), expected);
}

#[test]
fn routers_inside_routers_of_chi() {
    check_routers(
        r#"package m

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

func routes(get http.HandlerFunc) http.Handler {
	r := chi.NewRouter()
	r.Use(withLog)
	r.Route("/api", func(r chi.Router) {
		r.Use(withCache)
		r.With(withLogin, withTrace).Get("/", get)
		r.Group(admin)
	})
	r.Mount("/x", get)
	return r
}

func admin(r chi.Router) {
	r.Use(withLogin)
}
"#,
        &[
            "routes r.Group: withLog withCache withLogin",
            "routes r.Route(\"/api\"): withLog withCache",
            "routes r.With: withLog withCache withLogin withTrace",
        ],
    );
}

#[test]
fn a_group_of_gin_has_the_filters_that_were_there_before_it() {
    check_routers(
        r#"package m

import "github.com/gin-gonic/gin"

func engine() *gin.Engine {
	e := gin.New()
	e.Use(log)
	api := e.Group("/api", login)
	api.Use(cache).GET("/", log)
	e.Use(trace)
	v2 := e.Group("/v2").Use(cache)
	v2.GET("/", log)
	return e
}

func serve() {
	e := engine()
	e.Use(cache)
}

func log(c *gin.Context)   { c.Next() }
func login(c *gin.Context) { c.Next() }
func cache(c *gin.Context) { c.Next() }
func trace(c *gin.Context) { c.Next() }
"#,
        &[
            "engine e: log trace",
            "engine e.Group(\"/api\"): log login cache",
            "engine e.Group(\"/v2\"): log trace cache",
            "serve e: log trace cache",
        ],
    );
}

#[test]
fn a_group_of_echo_has_all_filters_of_its_server() {
    check_routers(
        r#"package m

import "github.com/labstack/echo/v4"

func serve() {
	e := echo.New()
	g := e.Group("/api", login)
	g.Use(cache)
	e.Use(log)
	e.Pre(trace)
}

func log(next echo.HandlerFunc) echo.HandlerFunc   { return next }
func login(next echo.HandlerFunc) echo.HandlerFunc { return next }
func cache(next echo.HandlerFunc) echo.HandlerFunc { return next }
func trace(next echo.HandlerFunc) echo.HandlerFunc { return next }
"#,
        &["serve e: trace log", "serve e.Group(\"/api\"): trace log login cache"],
    );
}

#[test]
fn a_router_in_a_field_is_followed_into_methods() {
    check_routers(
        r#"package m

import "github.com/gorilla/mux"

type server struct{ router *mux.Router }

func (s *server) start() {
	s.router.Use(withLog)
	s.routes()
}

func (s *server) routes() {
	api := s.router.PathPrefix("/api").Subrouter()
	api.Use(withCache)
	api.Host("x").Subrouter().Use(withLogin)
}
"#,
        &[
            "server.start api.Host(\"x\").Subrouter: withLog withCache withLogin",
            "server.start s.router.PathPrefix(\"/api\").Subrouter: withLog withCache",
            "server.routes api.Host(\"x\").Subrouter: withCache withLogin",
        ],
    );
}

#[test]
fn a_type_with_a_list_of_filters_is_a_router() {
    let server = r#"package m

import "net/http"

type server struct{ filters []func(http.Handler) http.Handler }

func (s *server) add(f ...func(http.Handler) http.Handler) { s.filters = append(s.filters, f...) }

func (s *server) wrap(h http.Handler) http.Handler {
	for i := len(s.filters) - 1; i >= 0; i-- {
		h = s.filters[i](h)
	}
	return h
}

func serve(h http.Handler) http.Handler {
	s := &server{}
	s.add(withLog)
	s.add(withCache, withLogin)
	return s.wrap(h)
}
"#;
    check_routers(server, &["serve s: withLog withCache withLogin"]);
    let inner_first =
        server.replace("i := len(s.filters) - 1; i >= 0; i--", "i := range s.filters");
    check_routers(&inner_first, &["serve s: withLogin withCache withLog"]);
}

#[test]
fn what_is_used_of_the_context_after_the_inner_side_is_told() {
    let server = r#"package m

import (
	"context"
	"log"
	"net/http"
	"time"
)

type key struct{}

type record struct{ user string }

func setUser(ctx context.Context, user string) {
	rec := ctx.Value(key{}).(*record)
	rec.user = user
}

func withRecord(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		rec := &record{}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), key{}, rec)))
		log.Print(rec.user)
	})
}

func build(h http.Handler) http.Handler {
	return withRecord(http.TimeoutHandler(h, time.Second, "late"))
}
"#;
    check(
        &[("server.go", server)],
        &[],
        concat!(
            "exit 0\n",
            "build (server.go:27), around `h`\n",
            "    filter          line  request  writer  what it does\n",
            " 1  withRecord      28    derived  same    uses `rec.user` after next, which the inner side changes through the `record` in the context (server.go:23)\n",
            " 2  TimeoutHandler  28    same     own     hands off, with a request with the same header map and a writer of its own\n",
        ),
    );
}

#[test]
fn the_request_in_the_context_of_gin_is_the_request() {
    let server = r#"package m

import (
	"log"

	"github.com/gin-gonic/gin"
)

func accessLog(c *gin.Context) {
	c.Next()
	log.Println(c.Request.Header.Get("User-Agent"))
}

func trace(c *gin.Context) {
	c.Request.Header.Set("X-Trace", "1")
	c.Next()
}

func serve() {
	e := gin.New()
	e.Use(accessLog, trace)
}
"#;
    check(
        &[("server.go", server)],
        &[],
        concat!(
            "exit 0\n",
            "serve (server.go:19), registered with `e`\n",
            "    filter     line  request  writer  what it does\n",
            " 1  accessLog  21    same     same    reads request headers after next: `c.Request.Header.Get(\"User-Agent\")` (server.go:11)\n",
            " 2  trace      21    same     same    changes request headers (server.go:15)\n",
        ),
    );
}
