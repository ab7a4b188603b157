"""Word lists for finding numbers and names in a sentence; `particulars.py` says what is done with them."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


EN_ONES = _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
""")

EN_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")

MONTHS = _words("January February March April May June July August September October November December")

ORDINARY = _words("""
    a about after again all also although always an and another answer any as asked asks at back because before
    both bought but by came chat could day days did do does during each earlier either even evening every everyone
    feels felt few finally first for found from gave got had has have he her here hers his hopes how however i i'd
    i'll i'm i've if in instead is it its just kept last later left likes loves made many may maybe met more
    morning most much my needs neither never next night no nobody none not nothing now of ok on once one only or
    other others our over owner people perhaps person persona plan plans prefers question read reply said saw says
    she should since so some someone something sometimes soon spent still such talk than that the their them then
    there these they thinks this those though thought three time to today together told tomorrow tonight too took
    two under until up wants was we week weekend went were what when where whether which while who why will with
    without work would wrote yes yesterday yet you your
""")
"""English words that a sentence may begin with, or write with a capital letter, without naming anybody."""

SURNAMES = (
    "王李张刘陈杨赵黄周吴徐孙胡朱高林何郭马罗梁宋郑谢韩唐冯董萧程曹袁邓许傅沈曾彭吕苏卢蒋蔡贾丁魏薛叶余潘"
    "杜戴夏钟汪田任姜范方石姚谭廖邹熊陆郝孔白崔康毛邱秦江史顾侯邵孟龙段雷钱汤尹黎武乔贺赖龚"
)

TITLES = _words("先生 女士 老师 医生 教授 经理 同学 阿姨 叔叔 师傅 主任 律师")

ZH_WORDS = _words("""
    丁香 任何 任务 任性 何况 何处 何必 何时 余下 余地 史料 叶子 周一 周三 周二 周五 周六 周到 周四 周围 周年 周日
    周末 唐朝 夏夜 夏天 夏季 夏日 孔雀 宋朝 常常 康乃馨 康复 张开 方便 方向 方式 方案 方法 方糖
    方面 曾经 杨梅 林子 林间 梁上 武术 段子 段落 毛病 毛笔 毛衣 江南 江水 江湖 江边 汤圆 汤面 熊猫 田野 白云 白天
    白色 白菜 白酒 石头 石榴 秦朝 程序 程度 胡乱 胡说 苏打 范围 许久 许可 许多 谢意 谢谢 贺卡 钱包
    钱款 雷声 雷雨 顾客 顾虑 马上 马拉松 马虎 马路 高中 高兴 高兴地 高山 高度 高手 高温 高考 高铁 黄昏 黄油 黄瓜
    黄色 龙舟
""")
"""Ordinary words that begin with a character which is a surname too."""

PLACES = _words("""
    北京 上海 广州 深圳 杭州 南京 苏州 成都 重庆 武汉 西安 天津 青岛 大连 厦门 宁波 长沙 郑州 济南 沈阳 哈尔滨 昆明
    大理 丽江 贵阳 南宁 桂林 海口 三亚 兰州 西宁 拉萨 福州 合肥 南昌 太原 香港 澳门 台北 台湾 新疆 西藏 云南 四川
    浙江 江苏 广东 福建 东京 大阪 京都 首尔 新加坡 曼谷 伦敦 巴黎 柏林 纽约 旧金山 洛杉矶 悉尼 莫斯科 罗马 日本
    韩国 美国 英国 法国 德国 意大利 西班牙 俄罗斯 加拿大 澳大利亚 泰国 越南 印度 冰岛 瑞士 挪威 西湖 长城 故宫 黄山
    泰山 淘宝 微信 支付宝 抖音
""")
"""Places and services that made-up facts like to mention."""
