-- A state file as version 2 wrote it: two deployments that succeeded, one whose third
-- stage is suspended; the bytes of components are cut.
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
, cancelling INTEGER NOT NULL DEFAULT 0);
INSERT INTO deployments VALUES(1,'6087574aeef24d51','786c61118e2c8226','shop','succeeded',0,1796133753922,4,NULL,2,'5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0','{"id":"6087574aeef24d51","application":{"id":"786c61118e2c8226","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","message":"","author":"","branch":null,"createdAt":1796133753919,"url":null,"pullRequest":null},"commander":null,"at":1796133753922,"strategy":null},"target":{"commit":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":null,"status":"succeeded","reason":"","ending":null,"strategy":"quick-sync","summary":"quick sync, since this is the first deployment","versions":[{"name":"shop","version":"e308a5b9557c","url":null}],"plugins":[{"key":"site","digest":"5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0"}],"stages":[],"autoRollback":true,"timeoutMs":null,"cancel":null,"rollback":null,"activeMs":26,"activeSince":null,"planAttempt":1,"planStartedAt":1796133753929,"createdAt":1796133753922,"startedAt":1796133753948,"endedAt":1796133753974,"version":4}',0);
INSERT INTO deployments VALUES(2,'51da76d59f554294','786c61118e2c8226','shop','succeeded',0,1796133758014,4,NULL,2,'5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0','{"id":"51da76d59f554294","application":{"id":"786c61118e2c8226","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","message":"","author":"","branch":null,"createdAt":1796133758012,"url":null,"pullRequest":null},"commander":null,"at":1796133758014,"strategy":null},"target":{"commit":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":{"commit":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"status":"succeeded","reason":"","ending":null,"strategy":"quick-sync","summary":"quick sync: no file changed","versions":[{"name":"shop","version":"e308a5b9557c","url":null}],"plugins":[{"key":"site","digest":"5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0"}],"stages":[],"autoRollback":true,"timeoutMs":null,"cancel":null,"rollback":null,"activeMs":13,"activeSince":null,"planAttempt":1,"planStartedAt":1796133758018,"createdAt":1796133758014,"startedAt":1796133758040,"endedAt":1796133758053,"version":4}',0);
INSERT INTO deployments VALUES(3,'161feb564d934696','786c61118e2c8226','shop','running',1,1796133762076,8,1796134366682,5,replace('5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0\n6688ac1a30d46900345a19fa09638e6ba4561d6b6247bb5cc62cc2ea0fd48574\n9d603dc0a2f84d34803b82dd9e0557b458ba5ce7b1f6cea79b0afd8e9ed3965b','\n',char(10)),'{"id":"161feb564d934696","application":{"id":"786c61118e2c8226","name":"shop","labels":{},"remote":"/srv/shop","path":"app.pipecd.yaml"},"trigger":{"commit":{"hash":"6e355a471579cb2bf707d3deaf9e70798c66b61dc08ccfa024711b7231ec4e29","message":"","author":"","branch":null,"createdAt":1796133762075,"url":null,"pullRequest":null},"commander":null,"at":1796133762076,"strategy":"pipeline"},"target":{"commit":"6e355a471579cb2bf707d3deaf9e70798c66b61dc08ccfa024711b7231ec4e29","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"running":{"commit":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"},"status":"running","reason":"","ending":null,"strategy":"pipeline","summary":"pipeline, as was asked for","versions":[{"name":"shop","version":"6e355a471579","url":null}],"plugins":[{"key":"script","digest":"9d603dc0a2f84d34803b82dd9e0557b458ba5ce7b1f6cea79b0afd8e9ed3965b"},{"key":"site","digest":"5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0"},{"key":"wait","digest":"6688ac1a30d46900345a19fa09638e6ba4561d6b6247bb5cc62cc2ea0fd48574"}],"stages":[],"autoRollback":true,"timeoutMs":null,"cancel":null,"rollback":null,"activeMs":19,"activeSince":null,"planAttempt":1,"planStartedAt":1796133766636,"createdAt":1796133762076,"startedAt":1796133766665,"endedAt":null,"version":8}',0);
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
INSERT INTO stages VALUES(1,1,0,'01a231ea144f7558b464c7b187248764','succeeded',1,1,1,'local: 1 of 1 files','{"id":"01a231ea144f7558b464c7b187248764","key":null,"name":"SITE_SYNC","description":"Copies the release and makes it live, removes old ones","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":1796133753948,"turnStartedAt":1796133753948,"endedAt":1796133753974,"exitCode":null,"targets":[{"name":"local","status":"succeeded","message":"releases/e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131 is live; before, current did not exist"}]}');
INSERT INTO stages VALUES(2,1,1,'01a231ea144f7558b464c7b29e10da95','not-run',1,0,0,'','{"id":"01a231ea144f7558b464c7b29e10da95","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a231ea144f7558b464c7b187248764"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"not-run","reason":"nothing had to be undone","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO stages VALUES(3,2,0,'01a231ea244b754aae2c5723925840ff','succeeded',1,1,1,'','{"id":"01a231ea244b754aae2c5723925840ff","key":null,"name":"SITE_SYNC","description":"Copies the release and makes it live, removes old ones","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":1796133758040,"turnStartedAt":1796133758040,"endedAt":1796133758053,"exitCode":null,"targets":[{"name":"local","status":"skipped","message":"releases/e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131 was live already"}]}');
INSERT INTO stages VALUES(4,2,1,'01a231ea244b754aae2c572485fad1ba','not-run',1,0,0,'','{"id":"01a231ea244b754aae2c572485fad1ba","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a231ea244b754aae2c5723925840ff"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"not-run","reason":"nothing had to be undone","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO stages VALUES(5,3,0,'01a231ea45f57745bf4129c495a14996','succeeded',1,1,1,'local: 1 of 1 files','{"id":"01a231ea45f57745bf4129c495a14996","key":null,"name":"SITE_STAGE","description":"Copies the release to each target, not live yet","index":0,"requires":[],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":1796133766665,"turnStartedAt":1796133766665,"endedAt":1796133766675,"exitCode":null,"targets":[{"name":"local","status":"succeeded","message":"releases/6e355a471579cb2bf707d3deaf9e70798c66b61dc08ccfa024711b7231ec4e29 is copied, not live yet"}]}');
INSERT INTO stages VALUES(6,3,1,'01a231ea45f57745bf4129c7120b75f1','succeeded',1,1,1,'','{"id":"01a231ea45f57745bf4129c7120b75f1","key":null,"name":"SCRIPT_RUN","description":"Runs a script","index":1,"requires":["01a231ea45f57745bf4129c495a14996"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"script","options":{"run":"test -f public/index.html"},"skip":null,"timeoutMs":60000,"onLoss":"run-again","status":"succeeded","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":1796133766676,"turnStartedAt":1796133766676,"endedAt":1796133766681,"exitCode":0,"targets":[]}');
INSERT INTO stages VALUES(7,3,2,'01a231ea45f57745bf4129c81e7e7052','suspended',0,1,1,'until 2026-12-01T14:12:46Z','{"id":"01a231ea45f57745bf4129c81e7e7052","key":null,"name":"WAIT","description":"Waits for 10m","index":2,"requires":["01a231ea45f57745bf4129c7120b75f1"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"skip","authorizedOperators":[],"minOperators":1,"plugin":"wait","options":{"duration":"10m"},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"suspended","reason":"","note":"","attempt":{"number":1,"turn":1},"losses":0,"cause":"first","wait":{"since":1796133766686,"until":1796134366682,"afterCommand":0},"commands":[],"answered":0,"startedAt":1796133766682,"turnStartedAt":1796133766682,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO stages VALUES(8,3,3,'01a231ea45f57745bf4129c516a4eda3','waiting',0,0,0,'','{"id":"01a231ea45f57745bf4129c516a4eda3","key":null,"name":"SITE_PROMOTE","description":"Makes the copied release live, removes old ones","index":3,"requires":["01a231ea45f57745bf4129c81e7e7052"],"rollback":false,"undoes":[],"visible":true,"predefined":false,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"waiting","reason":"","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
INSERT INTO stages VALUES(9,3,4,'01a231ea45f57745bf4129c66ff1969f','waiting',0,0,0,'','{"id":"01a231ea45f57745bf4129c66ff1969f","key":null,"name":"SITE_ROLLBACK","description":"Puts back what was live before","index":0,"requires":[],"rollback":true,"undoes":["01a231ea45f57745bf4129c495a14996","01a231ea45f57745bf4129c516a4eda3"],"visible":false,"predefined":true,"metadata":{},"operation":"none","authorizedOperators":[],"minOperators":1,"plugin":"site","options":{},"skip":null,"timeoutMs":null,"onLoss":"run-again","status":"waiting","reason":"","note":"","attempt":{"number":0,"turn":0},"losses":0,"cause":"first","wait":null,"commands":[],"answered":0,"startedAt":null,"turnStartedAt":null,"endedAt":null,"exitCode":null,"targets":[]}');
CREATE TABLE leases (
    deployment INTEGER NOT NULL,
    stage      TEXT    NOT NULL,
    owner      TEXT    NOT NULL,
    until      INTEGER NOT NULL,
    PRIMARY KEY (deployment, stage)
) WITHOUT ROWID;
CREATE TABLE events (
    number     INTEGER PRIMARY KEY AUTOINCREMENT,
    deployment INTEGER NOT NULL,
    at         INTEGER NOT NULL,
    kind       TEXT    NOT NULL
);
INSERT INTO events VALUES(1,1,1796133753922,'{"kind":"deployment","status":"queued","reason":""}');
INSERT INTO events VALUES(2,1,1796133753929,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO events VALUES(3,1,1796133753946,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO events VALUES(4,1,1796133753948,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO events VALUES(5,1,1796133753948,'{"kind":"stage","stage":"01a231ea144f7558b464c7b187248764","name":"SITE_SYNC","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(6,1,1796133753960,'{"kind":"note","stage":"01a231ea144f7558b464c7b187248764","text":"local: 1 of 1 files"}');
INSERT INTO events VALUES(7,1,1796133753974,'{"kind":"stage","stage":"01a231ea144f7558b464c7b187248764","name":"SITE_SYNC","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(8,1,1796133753974,'{"kind":"stage","stage":"01a231ea144f7558b464c7b29e10da95","name":"SITE_ROLLBACK","status":"not-run","attempt":{"number":0,"turn":0},"reason":"nothing had to be undone"}');
INSERT INTO events VALUES(9,1,1796133753974,'{"kind":"deployment","status":"succeeded","reason":""}');
INSERT INTO events VALUES(10,2,1796133758014,'{"kind":"deployment","status":"queued","reason":""}');
INSERT INTO events VALUES(11,2,1796133758018,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO events VALUES(12,2,1796133758037,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO events VALUES(13,2,1796133758040,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO events VALUES(14,2,1796133758040,'{"kind":"stage","stage":"01a231ea244b754aae2c5723925840ff","name":"SITE_SYNC","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(15,2,1796133758053,'{"kind":"stage","stage":"01a231ea244b754aae2c5723925840ff","name":"SITE_SYNC","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(16,2,1796133758053,'{"kind":"stage","stage":"01a231ea244b754aae2c572485fad1ba","name":"SITE_ROLLBACK","status":"not-run","attempt":{"number":0,"turn":0},"reason":"nothing had to be undone"}');
INSERT INTO events VALUES(17,2,1796133758053,'{"kind":"deployment","status":"succeeded","reason":""}');
INSERT INTO events VALUES(18,3,1796133762076,'{"kind":"deployment","status":"queued","reason":""}');
INSERT INTO events VALUES(19,3,1796133766636,'{"kind":"deployment","status":"planning","reason":""}');
INSERT INTO events VALUES(20,3,1796133766664,'{"kind":"deployment","status":"planned","reason":""}');
INSERT INTO events VALUES(21,3,1796133766665,'{"kind":"deployment","status":"running","reason":""}');
INSERT INTO events VALUES(22,3,1796133766665,'{"kind":"stage","stage":"01a231ea45f57745bf4129c495a14996","name":"SITE_STAGE","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(23,3,1796133766672,'{"kind":"note","stage":"01a231ea45f57745bf4129c495a14996","text":"local: 1 of 1 files"}');
INSERT INTO events VALUES(24,3,1796133766675,'{"kind":"stage","stage":"01a231ea45f57745bf4129c495a14996","name":"SITE_STAGE","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(25,3,1796133766676,'{"kind":"stage","stage":"01a231ea45f57745bf4129c7120b75f1","name":"SCRIPT_RUN","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(26,3,1796133766681,'{"kind":"stage","stage":"01a231ea45f57745bf4129c7120b75f1","name":"SCRIPT_RUN","status":"succeeded","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(27,3,1796133766682,'{"kind":"stage","stage":"01a231ea45f57745bf4129c81e7e7052","name":"WAIT","status":"running","attempt":{"number":1,"turn":1},"reason":""}');
INSERT INTO events VALUES(28,3,1796133766685,'{"kind":"note","stage":"01a231ea45f57745bf4129c81e7e7052","text":"until 2026-12-01T14:12:46Z"}');
INSERT INTO events VALUES(29,3,1796133766686,'{"kind":"stage","stage":"01a231ea45f57745bf4129c81e7e7052","name":"WAIT","status":"suspended","attempt":{"number":1,"turn":1},"reason":""}');
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
INSERT INTO logs VALUES(1,1,'',0,1,0,X'0101009ed1d09ec6682e717569636b2073796e632c2073696e6365207468697320697320746865206669727374206465706c6f796d656e74');
INSERT INTO logs VALUES(2,1,'01a231ea144f7558b464c7b187248764',0,2,1,X'010001dad1d09ec6686c6c6f63616c3a20636f7069656420312066696c65732c20362062797465732c20746f2072656c65617365732f6533303861356239353537633932306464666430636630376463613161326665613436363933346164633165663133656365313134383563633732313431333101010a776c6f63616c3a2072656c65617365732f65333038613562393535376339323064646664306366303764636131613266656134363639333461646331656631336563653131343835636337323134313331206973206c6976653b206265666f72652c2063757272656e7420646964206e6f74206578697374');
INSERT INTO logs VALUES(3,2,'',0,1,0,X'0101009691d19ec6681b717569636b2073796e633a206e6f2066696c65206368616e676564');
INSERT INTO logs VALUES(4,2,'01a231ea244b754aae2c5723925840ff',0,2,1,X'010001c291d19ec668696c6f63616c3a2072656c65617365732f6533303861356239353537633932306464666430636630376463613161326665613436363933346164633165663133656365313134383563633732313431333120686173207468697320636f6e74656e7420616c7265616479010100616c6f63616c3a2072656c65617365732f6533303861356239353537633932306464666430636630376463613161326665613436363933346164633165663133656365313134383563633732313431333120776173206c69766520616c7265616479');
INSERT INTO logs VALUES(5,3,'',0,1,0,X'010100ea97d29ec6681a706970656c696e652c206173207761732061736b656420666f72');
INSERT INTO logs VALUES(6,3,'01a231ea45f57745bf4129c495a14996',0,1,1,X'010001a498d29ec6686c6c6f63616c3a20636f7069656420312066696c65732c20342062797465732c20746f2072656c65617365732f36653335356134373135373963623262663730376433646561663965373037393863363662363164633038636366613032343731316237323331656334653239');
INSERT INTO logs VALUES(7,3,'01a231ea45f57745bf4129c7120b75f1',0,1,1,X'010101b098d29ec6681d5468652073637269707420657869746564207769746820636f64652030');
INSERT INTO logs VALUES(8,3,'01a231ea45f57745bf4129c81e7e7052',0,1,1,X'010001b898d29ec6682b57616974696e6720666f722031306d2c20756e74696c20323032362d31322d30315431343a31323a34365a');
CREATE TABLE state (
    scope  TEXT NOT NULL,
    owner  TEXT NOT NULL,
    plugin TEXT NOT NULL,
    key    TEXT NOT NULL,
    value  BLOB NOT NULL,
    PRIMARY KEY (scope, owner, plugin, key)
) WITHOUT ROWID;
INSERT INTO state VALUES('application','786c61118e2c8226','site','live/local/e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131',X'31373936313333373533393637');
INSERT INTO state VALUES('deployment','161feb564d934696','site','target/local',X'7b226469726563746f7279223a222f777777222c226265666f7265223a6e756c6c2c226d616465223a5b2236653335356134373135373963623262663730376433646561663965373037393863363662363164633038636366613032343731316237323331656334653239225d2c227377697463686564223a5b5d7d');
INSERT INTO state VALUES('deployment','51da76d59f554294','site','target/local',X'7b226469726563746f7279223a222f777777222c226265666f7265223a6e756c6c2c226d616465223a5b5d2c227377697463686564223a5b5d7d');
INSERT INTO state VALUES('deployment','6087574aeef24d51','site','target/local',X'7b226469726563746f7279223a222f777777222c226265666f7265223a226e6f7468696e67222c226d616465223a5b2265333038613562393535376339323064646664306366303764636131613266656134363639333461646331656631336563653131343835636337323134313331225d2c227377697463686564223a5b2265333038613562393535376339323064646664306366303764636131613266656134363639333461646331656631336563653131343835636337323134313331225d7d');
INSERT INTO state VALUES('stage','01a231ea45f57745bf4129c81e7e7052','','announced',X'74727565');
CREATE TABLE last_success (
    application TEXT NOT NULL PRIMARY KEY,
    revision    TEXT NOT NULL
) WITHOUT ROWID;
INSERT INTO last_success VALUES('786c61118e2c8226','{"commit":"e308a5b9557c920ddfd0cf07dca1a2fea466934adc1ef13ece11485cc7214131","path":"app.pipecd.yaml","config":"apiVersion: pipecd.dev/v1beta1\nkind: Application\nspec:\n  name: shop\n  plugins:\n    site:\n      directory: public\n  pipeline:\n    stages:\n      - name: SITE_STAGE\n      - name: SCRIPT_RUN\n        timeout: 1m\n        with:\n          run: test -f public/index.html\n      - name: WAIT\n        with: { duration: 10m }\n      - name: SITE_PROMOTE\n"}');
CREATE TABLE components (
    digest TEXT NOT NULL PRIMARY KEY,
    bytes  BLOB NOT NULL
);
INSERT INTO components VALUES('9d603dc0a2f84d34803b82dd9e0557b458ba5ce7b1f6cea79b0afd8e9ed3965b',X'00617364');
INSERT INTO components VALUES('5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0',X'00617364');
INSERT INTO components VALUES('6688ac1a30d46900345a19fa09638e6ba4561d6b6247bb5cc62cc2ea0fd48574',X'00617364');
CREATE TABLE pins (
    digest     TEXT    NOT NULL,
    deployment INTEGER NOT NULL,
    PRIMARY KEY (digest, deployment)
) WITHOUT ROWID;
INSERT INTO pins VALUES('5af4f00d69801f57bdf0d46770a08e8455ab54d940f676ac94a653108678acb0',3);
INSERT INTO pins VALUES('6688ac1a30d46900345a19fa09638e6ba4561d6b6247bb5cc62cc2ea0fd48574',3);
INSERT INTO pins VALUES('9d603dc0a2f84d34803b82dd9e0557b458ba5ce7b1f6cea79b0afd8e9ed3965b',3);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence VALUES('deployments',3);
INSERT INTO sqlite_sequence VALUES('events',29);
CREATE INDEX deployments_due ON deployments (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX deployments_unfinished ON deployments (application) WHERE unfinished;
CREATE INDEX deployments_by_application ON deployments (application, number);
CREATE INDEX deployments_by_name ON deployments (name, number);
CREATE INDEX deployments_by_status ON deployments (status, number);
CREATE INDEX leases_by_until ON leases (until);
CREATE INDEX leases_by_owner ON leases (owner);
CREATE INDEX events_by_deployment ON events (deployment, number);
CREATE INDEX pins_by_deployment ON pins (deployment);
CREATE INDEX deployments_cancelling ON deployments (number) WHERE cancelling;
CREATE INDEX deployments_finished ON deployments (application, number) WHERE NOT unfinished;
PRAGMA application_id = 0x53544757;
PRAGMA user_version = 2;
