-- A state file as version 1 wrote it: two deployments that succeeded, one whose second
-- stage is suspended; the bytes of components are cut.
CREATE TABLE components (
    digest TEXT NOT NULL PRIMARY KEY,
    bytes  BLOB NOT NULL
);
INSERT INTO "components" VALUES('a2b8c60b9dc2532169c8afc54ee61cb220df4c766b51deaaac53d391ce87414e',X'00617364');
INSERT INTO "components" VALUES('d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513',X'00617364');
INSERT INTO "components" VALUES('e5327d61b76578572114be1b46f7a452054786f10c7e0a038742618e6f2340e3',X'00617364');
CREATE TABLE deployments (
    number      INTEGER PRIMARY KEY AUTOINCREMENT,
    id          TEXT    NOT NULL UNIQUE,
    application TEXT    NOT NULL,
    name        TEXT    NOT NULL,
    status      TEXT    NOT NULL,
    unfinished  INTEGER NOT NULL,
    created_at  INTEGER NOT NULL,
    version     INTEGER NOT NULL,
    due_at      INTEGER,
    stages      INTEGER NOT NULL,
    pins        TEXT    NOT NULL,
    head        TEXT    NOT NULL
);
INSERT INTO "deployments" VALUES(1,'13c714f616fb4a83','b7b456594a9daba2','shop','succeeded',0,1796106615319,4,NULL,2,'d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513','{"id":"13c714f616fb4a83","application":{"id":"b7b456594a9daba2","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","message":"","author":"","branch":null,"createdAt":1796106615315,"url":null,"pullRequest":null},"commander":null,"at":1796106615319,"strategy":null},"target":{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":null,"status":"succeeded","reason":"","ending":null,"strategy":"quick-sync","summary":"quick sync, since this is the first deployment","versions":[{"name":"shop","version":"474868b90a44","url":null}],"plugins":[{"key":"site","digest":"d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513"}],"stages":[],"autoRollback":true,"timeoutMs":null,"activeMs":51,"activeSince":null,"planAttempt":1,"createdAt":1796106615319,"startedAt":1796106615348,"endedAt":1796106615399,"version":4}');
INSERT INTO "deployments" VALUES(2,'b26aef6cf7ec4cd8','b7b456594a9daba2','shop','succeeded',0,1796106618362,4,NULL,2,'d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513','{"id":"b26aef6cf7ec4cd8","application":{"id":"b7b456594a9daba2","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","message":"","author":"","branch":null,"createdAt":1796106618360,"url":null,"pullRequest":null},"commander":null,"at":1796106618362,"strategy":null},"target":{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"status":"succeeded","reason":"","ending":null,"strategy":"quick-sync","summary":"quick sync: no file changed","versions":[{"name":"shop","version":"474868b90a44","url":null}],"plugins":[{"key":"site","digest":"d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513"}],"stages":[],"autoRollback":true,"timeoutMs":null,"activeMs":13,"activeSince":null,"planAttempt":1,"createdAt":1796106618362,"startedAt":1796106618381,"endedAt":1796106618394,"version":4}');
INSERT INTO "deployments" VALUES(3,'c8ec6eb0c5c84221','b7b456594a9daba2','shop','running',1,1796106620975,8,1796107223471,5,'a2b8c60b9dc2532169c8afc54ee61cb220df4c766b51deaaac53d391ce87414e
d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513
e5327d61b76578572114be1b46f7a452054786f10c7e0a038742618e6f2340e3','{"id":"c8ec6eb0c5c84221","application":{"id":"b7b456594a9daba2","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","message":"","author":"","branch":null,"createdAt":1796106620970,"url":null,"pullRequest":null},"commander":"me","at":1796106620975,"strategy":"pipeline"},"target":{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"status":"running","reason":"","ending":null,"strategy":"pipeline","summary":"pipeline, as was asked for","versions":[{"name":"shop","version":"474868b90a44","url":null}],"plugins":[{"key":"script","digest":"a2b8c60b9dc2532169c8afc54ee61cb220df4c766b51deaaac53d391ce87414e"},{"key":"site","digest":"d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513"},{"key":"wait","digest":"e5327d61b76578572114be1b46f7a452054786f10c7e0a038742618e6f2340e3"}],"stages":[],"autoRollback":true,"timeoutMs":null,"activeMs":35,"activeSince":null,"planAttempt":1,"createdAt":1796106620975,"startedAt":1796106623447,"endedAt":null,"version":8}');
CREATE TABLE events (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    deployment INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL
);
INSERT INTO "events" VALUES(1,1,1796106615319,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO "events" VALUES(2,1,1796106615340,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO "events" VALUES(3,1,1796106615348,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO "events" VALUES(4,1,1796106615348,'{"kind":"stage","stage":"01a2304bfa25737085de9bbdd74e410f","name":"SITE_SYNC","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(5,1,1796106615384,'{"kind":"note","stage":"01a2304bfa25737085de9bbdd74e410f","text":"local: 1 of 1 files"}');
INSERT INTO "events" VALUES(6,1,1796106615399,'{"kind":"stage","stage":"01a2304bfa25737085de9bbdd74e410f","name":"SITE_SYNC","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(7,1,1796106615399,'{"kind":"stage","stage":"01a2304bfa25737085de9bbe8ec92d98","name":"SITE_ROLLBACK","status":"not-run","attempt":{"number":0,"turn":0},"reason":"nothing had to be undone"}');
INSERT INTO "events" VALUES(8,1,1796106615399,'{"kind":"deployment","status":"succeeded","reason":""}');
INSERT INTO "events" VALUES(9,2,1796106618362,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO "events" VALUES(10,2,1796106618379,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO "events" VALUES(11,2,1796106618381,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO "events" VALUES(12,2,1796106618381,'{"kind":"stage","stage":"01a2304c0606704caf4ba97bf1944b01","name":"SITE_SYNC","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(13,2,1796106618394,'{"kind":"stage","stage":"01a2304c0606704caf4ba97bf1944b01","name":"SITE_SYNC","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(14,2,1796106618394,'{"kind":"stage","stage":"01a2304c0606704caf4ba97cb1d2d15b","name":"SITE_ROLLBACK","status":"not-run","attempt":{"number":0,"turn":0},"reason":"nothing had to be undone"}');
INSERT INTO "events" VALUES(15,2,1796106618394,'{"kind":"deployment","status":"succeeded","reason":""}');
INSERT INTO "events" VALUES(16,3,1796106620975,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO "events" VALUES(17,3,1796106623445,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO "events" VALUES(18,3,1796106623447,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO "events" VALUES(19,3,1796106623447,'{"kind":"stage","stage":"01a2304c19ca75838f54c5dd9335e421","name":"SITE_STAGE","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(20,3,1796106623455,'{"kind":"stage","stage":"01a2304c19ca75838f54c5dd9335e421","name":"SITE_STAGE","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(21,3,1796106623457,'{"kind":"stage","stage":"01a2304c19ca75838f54c5e07d24ef45","name":"SCRIPT_RUN","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(22,3,1796106623464,'{"kind":"stage","stage":"01a2304c19ca75838f54c5e07d24ef45","name":"SCRIPT_RUN","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(23,3,1796106623471,'{"kind":"stage","stage":"01a2304c19ca75838f54c5e189a20f01","name":"WAIT","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO "events" VALUES(24,3,1796106623481,'{"kind":"note","stage":"01a2304c19ca75838f54c5e189a20f01","text":"until 2026-12-01T06:40:23Z"}');
INSERT INTO "events" VALUES(25,3,1796106623491,'{"kind":"stage","stage":"01a2304c19ca75838f54c5e189a20f01","name":"WAIT","status":"suspended","attempt":{"number":1,"turn":1},"reason":""}');
CREATE TABLE last_success (
    application TEXT NOT NULL PRIMARY KEY,
    revision    TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO "last_success" VALUES('b7b456594a9daba2','{"commit":"474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"}');
CREATE TABLE leases (
    deployment INTEGER NOT NULL,
    stage      TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    until      INTEGER NOT NULL,
    PRIMARY KEY (deployment, stage)
) WITHOUT ROWID;
CREATE TABLE logs (
    number     INTEGER PRIMARY KEY,
    deployment INTEGER NOT NULL,
    stage      TEXT    NOT NULL,
    first      INTEGER NOT NULL,
    lines      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    chunk      BLOB    NOT NULL,
    UNIQUE (deployment, stage, first)
);
INSERT INTO "logs" VALUES(1,1,'',0,1,0,X'010100CAE8DF84C6682E717569636B2073796E632C2073696E6365207468697320697320746865206669727374206465706C6F796D656E74');
INSERT INTO "logs" VALUES(2,1,'01a2304bfa25737085de9bbdd74e410f',0,2,1,X'010001BAE9DF84C6686C6C6F63616C3A20636F7069656420312066696C65732C20332062797465732C20746F2072656C65617365732F34373438363862393061343439373833633164663364386233373266656332663035666261373061613362306461303433383565393465663338383431303730010108776C6F63616C3A2072656C65617365732F34373438363862393061343439373833633164663364386233373266656332663035666261373061613362306461303433383565393465663338383431303730206973206C6976653B206265666F72652C2063757272656E7420646964206E6F74206578697374');
INSERT INTO "logs" VALUES(3,2,'',0,1,0,X'0101008C98E084C6681B717569636B2073796E633A206E6F2066696C65206368616E676564');
INSERT INTO "logs" VALUES(4,2,'01a2304c0606704caf4ba97bf1944b01',0,2,1,X'010001AC98E084C668696C6F63616C3A2072656C65617365732F3437343836386239306134343937383363316466336438623337326665633266303566626137306161336230646130343338356539346566333838343130373020686173207468697320636F6E74656E7420616C7265616479010102616C6F63616C3A2072656C65617365732F3437343836386239306134343937383363316466336438623337326665633266303566626137306161336230646130343338356539346566333838343130373020776173206C69766520616C7265616479');
INSERT INTO "logs" VALUES(5,3,'',0,1,0,X'01010094E7E084C6681A706970656C696E652C206173207761732061736B656420666F72');
INSERT INTO "logs" VALUES(6,3,'01a2304c19ca75838f54c5dd9335e421',0,1,1,X'010001BAE7E084C668696C6F63616C3A2072656C65617365732F3437343836386239306134343937383363316466336438623337326665633266303566626137306161336230646130343338356539346566333838343130373020686173207468697320636F6E74656E7420616C7265616479');
INSERT INTO "logs" VALUES(7,3,'01a2304c19ca75838f54c5e07d24ef45',0,1,1,X'010101CCE7E084C6681D5468652073637269707420657869746564207769746820636F64652030');
INSERT INTO "logs" VALUES(8,3,'01a2304c19ca75838f54c5e189a20f01',0,1,1,X'010001E6E7E084C6682B57616974696E6720666F722031306D2C20756E74696C20323032362D31322D30315430363A34303A32335A');
CREATE TABLE pins (
    digest     TEXT    NOT NULL,
    deployment INTEGER NOT NULL,
    PRIMARY KEY (digest, deployment)
) WITHOUT ROWID;
INSERT INTO "pins" VALUES('a2b8c60b9dc2532169c8afc54ee61cb220df4c766b51deaaac53d391ce87414e',3);
INSERT INTO "pins" VALUES('d2fcdd1372d7a7f557ec1df15c4fdfda706160f4d34376d9f915ab12c639b513',3);
INSERT INTO "pins" VALUES('e5327d61b76578572114be1b46f7a452054786f10c7e0a038742618e6f2340e3',3);
CREATE TABLE stages (
    number     INTEGER PRIMARY KEY,
    deployment INTEGER NOT NULL,
    place      INTEGER NOT NULL,
    id         TEXT    NOT NULL,
    status     TEXT    NOT NULL,
    final      INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    note       TEXT    NOT NULL,
    body       TEXT    NOT NULL,
    UNIQUE (deployment, place),
    UNIQUE (deployment, id)
);
INSERT INTO "stages" VALUES(1,1,0,'01a2304bfa25737085de9bbdd74e410f','succeeded',1,1,1,'local: 1 of 1 files','{"id":"01a2304bfa25737085de9bbdd74e410f","key":null,"name":"SITE_SYNC","description":"Copies the release and makes it live, removes old ones","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"startedAt":1796106615348,"turnStartedAt":1796106615348,"endedAt":1796106615399,"exitCode":null,"targets":[{"name":"local","status":"succeeded","message":"releases/474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070 is live; before, current did not exist"}]}');
INSERT INTO "stages" VALUES(2,1,1,'01a2304bfa25737085de9bbe8ec92d98','not-run',1,0,0,'','{"id":"01a2304bfa25737085de9bbe8ec92d98","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a2304bfa25737085de9bbdd74e410f"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"not-run","reason":"nothing had to be undone","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO "stages" VALUES(3,2,0,'01a2304c0606704caf4ba97bf1944b01','succeeded',1,1,1,'','{"id":"01a2304c0606704caf4ba97bf1944b01","key":null,"name":"SITE_SYNC","description":"Copies the release and makes it live, removes old ones","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"startedAt":1796106618381,"turnStartedAt":1796106618381,"endedAt":1796106618394,"exitCode":null,"targets":[{"name":"local","status":"skipped","message":"releases/474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070 was live already"}]}');
INSERT INTO "stages" VALUES(4,2,1,'01a2304c0606704caf4ba97cb1d2d15b','not-run',1,0,0,'','{"id":"01a2304c0606704caf4ba97cb1d2d15b","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a2304c0606704caf4ba97bf1944b01"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"not-run","reason":"nothing had to be undone","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO "stages" VALUES(5,3,0,'01a2304c19ca75838f54c5dd9335e421','succeeded',1,1,1,'','{"id":"01a2304c19ca75838f54c5dd9335e421","key":null,"name":"SITE_STAGE","description":"Copies the release to each target, not live yet","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"startedAt":1796106623447,"turnStartedAt":1796106623447,"endedAt":1796106623455,"exitCode":null,"targets":[{"name":"local","status":"succeeded","message":"releases/474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070 was there already"}]}');
INSERT INTO "stages" VALUES(6,3,1,'01a2304c19ca75838f54c5e07d24ef45','succeeded',1,1,1,'','{"id":"01a2304c19ca75838f54c5e07d24ef45","key":null,"name":"SCRIPT_RUN","description":"Runs a script","index":1,"requires":["01a2304c19ca75838f54c5dd9335e421"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"script","options":{"run":"test -f public/index.html"},"skip":null,"timeoutMs":60000,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"startedAt":1796106623457,"turnStartedAt":1796106623457,"endedAt":1796106623464,"exitCode":0,"targets":[]}');
INSERT INTO "stages" VALUES(7,3,2,'01a2304c19ca75838f54c5e189a20f01','suspended',0,1,1,'until 2026-12-01T06:40:23Z','{"id":"01a2304c19ca75838f54c5e189a20f01","key":null,"name":"WAIT","description":"Waits for 10m","index":2,"requires":["01a2304c19ca75838f54c5e07d24ef45"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"wait","options":{"duration":"10m"},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"suspended","reason":"","note":"until 2026-12-01T06:40:23Z","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":{"since":1796106623491,"until":1796107223471},"startedAt":1796106623471,"turnStartedAt":1796106623471,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO "stages" VALUES(8,3,3,'01a2304c19ca75838f54c5de49e33420','waiting',0,0,0,'','{"id":"01a2304c19ca75838f54c5de49e33420","key":null,"name":"SITE_PROMOTE","description":"Makes the copied release live, removes old ones","index":3,"requires":["01a2304c19ca75838f54c5e189a20f01"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"waiting","reason":"","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO "stages" VALUES(9,3,4,'01a2304c19ca75838f54c5dfcde7144f','waiting',0,0,0,'','{"id":"01a2304c19ca75838f54c5dfcde7144f","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a2304c19ca75838f54c5dd9335e421","01a2304c19ca75838f54c5de49e33420"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"waiting","reason":"","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
CREATE TABLE state (
    scope  TEXT NOT NULL,
    owner  TEXT NOT NULL,
    plugin TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (scope, owner, plugin, key)
) WITHOUT ROWID;
INSERT INTO "state" VALUES('application','b7b456594a9daba2','site','live/local/474868b90a449783c1df3d8b372fec2f05fba70aa3b0da04385e94ef38841070',X'31373936313036363135333930');
INSERT INTO "state" VALUES('deployment','13c714f616fb4a83','site','target/local',X'7B226469726563746F7279223A222F777777222C226265666F7265223A226E6F7468696E67222C226D616465223A5B2234373438363862393061343439373833633164663364386233373266656332663035666261373061613362306461303433383565393465663338383431303730225D2C227377697463686564223A5B2234373438363862393061343439373833633164663364386233373266656332663035666261373061613362306461303433383565393465663338383431303730225D7D');
INSERT INTO "state" VALUES('deployment','b26aef6cf7ec4cd8','site','target/local',X'7B226469726563746F7279223A222F777777222C226265666F7265223A6E756C6C2C226D616465223A5B5D2C227377697463686564223A5B5D7D');
INSERT INTO "state" VALUES('deployment','c8ec6eb0c5c84221','site','target/local',X'7B226469726563746F7279223A222F777777222C226265666F7265223A6E756C6C2C226D616465223A5B5D2C227377697463686564223A5B5D7D');
INSERT INTO "state" VALUES('stage','01a2304c19ca75838f54c5e189a20f01','','announced',X'74727565');
CREATE INDEX deployments_due ON deployments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployments_unfinished ON deployments (application) WHERE unfinished;
CREATE INDEX deployments_by_application ON deployments (application, number);
CREATE INDEX deployments_by_name ON deployments (name, number);
CREATE INDEX deployments_by_status ON deployments (status, number);
CREATE INDEX leases_by_until ON leases (until);
CREATE INDEX leases_by_owner ON leases (owner);
CREATE INDEX events_by_deployment ON events (deployment, number);
CREATE INDEX pins_by_deployment ON pins (deployment);
INSERT INTO "sqlite_sequence" VALUES('deployments',3);
INSERT INTO "sqlite_sequence" VALUES('events',25);
PRAGMA application_id = 0x53544757;
PRAGMA user_version = 1;
